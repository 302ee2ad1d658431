import { createApp, durable } from "@durable/core";
import { expect, test } from "vitest";
import { noticingLab } from "../support/behaviour-lab.ts";

test("a run that is deleted while it is driven stops as soon as one that is cancelled", async () => {
  for (const verb of ["cancel", "delete"] as const) {
    const base = noticingLab();
    const flow = durable("job", (ctx) =>
      ctx.step(
        "work",
        ({ signal }) =>
          new Promise<void>((resolve) =>
            signal.addEventListener("abort", () => ((stopped = base.world.now()), resolve())),
          ),
      ),
    );
    let stopped = 0;
    const app = createApp({ ...base, patience: 0, workflows: [flow] });
    await app.start("job", undefined, { id: "r" });
    await base.world.advance(100);
    const at = base.world.now();
    await createApp({ ...base, patience: 0, workflows: [] })[verb]("r");
    await base.world.advance(60_000);
    expect(stopped - at, verb).toBeLessThanOrEqual(5_000);
  }
});
