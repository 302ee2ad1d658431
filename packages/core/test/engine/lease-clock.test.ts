/** A lease is renewed by time that passes, and not by a clock that can be set. */

import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, pause, sqliteLab } from "../support/behaviour-lab.ts";
import { open } from "../support/worker-lab.ts";
import { record } from "../support/worker-runs.ts";

test.each([
  ["back", -3_600_000],
  ["ahead", 3_600_000],
  ["back a little", -15_000],
])("H37 a clock that is set %s does not hand a long step to a second driver", async (_, ms) => {
  for (const base of [lab(), sqliteLab()]) {
    const bodies: string[] = [];
    let set = 0;
    const world = { ...base.world, now: () => base.world.now() + set };
    const flow = durable("job", (ctx) =>
      ctx.step("work", async () => {
        bodies.push(ctx.runId);
        await pause(base.world, 180_000);
      }),
    );
    open(base, [flow], { world });
    await record(base, "r", { workflow: "job" });
    await base.world.advance(6_000);
    set = ms;
    open(base, [flow]);
    await base.world.advance(200_000);
    expect(bodies).toEqual(["r"]);
  }
});
