import { createApp, durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, pause, tokenOf } from "../support/behaviour-lab.ts";

test("deliver to a run that cleans up answers `expired`, as resume does", async () => {
  const base = lab();
  const flow = durable("job", async (ctx) => {
    ctx.onCancel((c) => c.step("tidy", () => pause(base.world, 30_000)));
    return ctx.suspend("go");
  });
  const app = createApp({ ...base, patience: 0, workflows: [flow] });
  await app.start("job", undefined, { id: "r", drive: false });
  const token = tokenOf(await base.world.run(app.advance("r")));
  await app.cancel("r");
  await base.world.advance(1_000);
  expect(await app.resume(token, 1)).toMatchObject({ status: "expired" });
  expect(await app.resume(token, 1, { drive: false })).toMatchObject({ status: "expired" });
});
