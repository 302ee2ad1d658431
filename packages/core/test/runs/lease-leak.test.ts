import { createApp, durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf } from "../support/behaviour-lab.ts";
import type { Flow } from "../support/behaviour-lives.ts";
import { open } from "../support/worker-lab.ts";

test("a run in memory that goes on by itself, and finds its journal moved, does not keep the lease", async () => {
  const on = lab();
  const start = on.world.now();
  const flow = (foreign: boolean): Flow =>
    durable("asks", async (ctx) => {
      // Ends after the run has parked, and makes a call then.
      if (foreign) void pause(on.world, 10_000).then(() => ctx.step("extra", () => 1));
      return Promise.all([ctx.suspend("ok"), ctx.suspend("more", { timeout: "11s", fallback: "late" })]);
    });
  const here = createApp({ ...on, workflows: [flow(true)], warm: 10 });
  await here.start("asks", undefined, { id: "r" });
  await on.world.advance(5_000);
  // Another process drives the run on, and parks it again.
  const there = createApp({ ...on, workflows: [flow(false)] });
  await there.deliver(tokenOf(await there.get("r").outcome(), "ok"), "yes");
  expect(await on.world.run(there.advance("r"))).toMatchObject({ status: "suspended" });
  await on.world.advance(start + 10_500 - on.world.now());
  const { heard, until } = open(on, [flow(false)], { interval: 100 });
  await until(1);
  expect(heard.map(outputOf)).toEqual([["yes", "late"]]);
  expect(on.world.now() - start).toBeLessThan(12_000);
});
