import { expect, test } from "vitest";
import { askWorker } from "./support/ask-worker.ts";
import { bundle } from "./support/bundle.ts";

// With nodejs_compat a Worker looks like Node, down to its version; its ticks are mere microtasks.
test.each([{ flags: [] as string[] }, { flags: ["nodejs_compat"] }])(
  "a run is not parked while its code is on its way to the next step: $flags",
  async ({ flags }) => {
    const script = await bundle(new URL("support/barrier-worker.ts", import.meta.url));
    const reply = (await askWorker(script, flags)) as { kinds: string[]; node: string | null };
    expect(reply.node === null).toBe(flags.length === 0);
    expect(reply).toMatchObject({ status: "suspended" });
    expect(reply.kinds.filter((kind) => !kind.startsWith("suspend."))).toEqual([
      "run.started",
      "step.completed",
      "run.suspended",
    ]);
  },
  60_000,
);
