import { durable, limits } from "@durable/core";
import { expect, test } from "vitest";
import { lab, outputOf } from "../support/behaviour-lab.ts";
import { batchesOf, replayOf, runOf, type Flow } from "../support/behaviour-lives.ts";

test("3,000 groups that are opened at once are written in batches of the allowed size", async () => {
  const on = lab();
  const groups = 3 * limits.batchEntries;
  let ran = 0;
  const flow: Flow = durable("groups", async (ctx) => {
    const opened = Array.from({ length: groups }, () => ctx.parallel([(c) => c.step("work", () => ++ran)]));
    return (await Promise.all(opened)).length;
  });
  expect(outputOf(await runOf(on, flow))).toBe(groups);
  const sizes = (await batchesOf(on)).map(
    (batch) => (JSON.parse(batch) as { entries: unknown[] }).entries.length,
  );
  expect(Math.max(...sizes)).toBeLessThanOrEqual(limits.batchEntries);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(2 * groups + 2);
  expect(outputOf(await replayOf(on, flow))).toBe(groups);
  expect(ran).toBe(groups);
});
