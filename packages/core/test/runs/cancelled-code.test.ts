import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { failureOf, kindsOf, lab, pause } from "../support/behaviour-lab.ts";
import { replayOf } from "../support/behaviour-lives.ts";

test("ending.1: the code does not see a result that is recorded after its cancellation, live or in a fresh process", async () => {
  const on = lab();
  const log: string[] = [];
  const flow = durable("late", async (ctx) => {
    ctx.onCancel((c) => c.step("clean", () => void log.push("clean")));
    await ctx.step("slow", () => pause(on.world, 1_000));
    log.push("went on");
  }).with(on);
  const run = await flow.start(undefined, { id: "r" });
  await on.world.advance(100);
  await on.world.run(flow.cancel("r"));
  await failureOf(on.world.run(run.result()));
  expect(await kindsOf(run)).toEqual([
    "run.started",
    "cleanup.opened onCancel",
    "run.cancelling",
    "step.completed slow",
    "cleanup.started onCancel",
    "step.completed onCancel/clean",
    "cleanup.completed onCancel",
    "run.cancelled",
  ]);
  expect(log).toEqual(["clean"]);
  // The same journal without its end, in a process that has not seen it.
  expect(await replayOf(on, flow)).toMatchObject({ status: "cancelled" });
  expect(log).toEqual(["clean"]);
});
