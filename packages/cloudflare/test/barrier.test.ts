import { Miniflare } from "miniflare";
import { expect, test } from "vitest";
import { bundle } from "./support/bundle.ts";

// With nodejs_compat a Worker looks like Node, down to its version; its ticks are mere microtasks.
test.each([{ flags: [] }, { flags: ["nodejs_compat"] }])(
  "a run is not parked while its code is on its way to the next step: $flags",
  async ({ flags }) => {
    const server = new Miniflare({
      modules: true,
      script: await bundle(new URL("support/barrier-worker.ts", import.meta.url)),
      cf: false,
      compatibilityDate: "2026-07-01",
      compatibilityFlags: flags,
      host: "127.0.0.1",
      port: 0,
    });
    try {
      const reply = (await (await fetch(await server.ready)).json()) as {
        kinds: string[];
        node: string | null;
      };
      expect(reply.node === null).toBe(flags.length === 0);
      expect(reply).toMatchObject({ status: "suspended" });
      expect(reply.kinds.filter((kind) => !kind.startsWith("suspend."))).toEqual([
        "run.started",
        "step.completed",
        "run.suspended",
      ]);
    } finally {
      await server.dispose();
    }
  },
  60_000,
);
