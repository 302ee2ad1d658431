import { createApp, durable, MemoryStorage } from "@durable/core";
import { underWay, viewRun, type Doing } from "@durable/core/inspect";
import { expect, test } from "vitest";

test("a step that works has a row before anything of it is recorded", async () => {
  const hold = Promise.withResolvers<void>();
  const flow = durable("works", async (ctx) => {
    await ctx.step("plan", () => 1);
    await ctx.parallel({ left: (c) => c.step("long", () => hold.promise) });
  });
  const app = createApp({ workflows: [flow], storage: new MemoryStorage() });
  const run = await app.start(flow, undefined, { id: "r" });
  let doing: readonly Doing[] = [];
  await expect
    .poll(async () => (doing = (await underWay(app)).get("r") ?? []).length, { timeout: 10_000 })
    .toBe(1);
  const entries = await run.entries();
  const keys = (given?: readonly Doing[]) =>
    viewRun(entries, { doing: given }).rows.map(({ key, status }) => `${key} ${status}`);
  expect(keys()).toEqual(["plan completed"]);
  expect(keys(doing)).toEqual([
    "plan completed",
    "parallel open",
    "parallel[left] open",
    "parallel[left]/long open",
  ]);
  const row = viewRun(entries, { doing, now: Date.now() }).rows.at(-1);
  expect(row?.attempts).toEqual([{ number: 1, startedAt: doing[0]?.since, endedAt: null }]);
  hold.resolve();
  await run.result();
  // What was written before the end is out of date, and changes nothing.
  const after = viewRun(await run.entries(), { doing }).rows;
  expect(after.every(({ status }) => status === "completed")).toBe(true);
});
