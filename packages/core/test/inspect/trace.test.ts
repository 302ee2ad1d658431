/** Ids of traces lead to their runs. */

import { expect, test } from "vitest";
import { createApp, durable, MemoryStorage } from "../../src/index.ts";
import { listedOfTrace, runSearch, traceOf, traceOfSeed } from "../../src/inspect.ts";

test("the id of a trace leads to its run: of each life, of a child, and of each chapter", async () => {
  const child = durable("child", (ctx) => ctx.step("work", () => 1));
  const flow = durable("flow", async (ctx, turn: number) => {
    await ctx.child(child);
    return turn < 2 ? ctx.continueAs(turn + 1) : "done";
  });
  const app = createApp({ storage: new MemoryStorage(), workflows: [flow, child], bind: false });
  await app.run("flow", 1, { id: "one" });
  const traces = new Set<string>();
  for (const chapter of [1, 2]) traces.add(traceOf(await app.get("one").entries({ chapter })));
  const { runs } = await app.list({ parent: "one" });
  const [below] = runs;
  const ofChild = traceOf(await app.get(below?.runId ?? "").entries());
  expect(await listedOfTrace(app, ofChild)).toMatchObject([{ runId: below?.runId }]);
  await app.delete("one");
  await app.run("flow", 1, { id: "one" });
  traces.add(traceOf(await app.get("one").entries()));
  expect(traces.size).toBe(3);
  for (const trace of traces) {
    expect(trace).toMatch(/^[0-9a-f]{32}$/);
    const [found] = await listedOfTrace(app, trace.toUpperCase());
    expect(found?.runId).toBe("one");
    const search = runSearch({ text: trace }, { now: Date.now() });
    const all = (await app.list()).runs.filter((head) => search.fits(head));
    expect(all.map(({ runId }) => runId)).toEqual(["one"]);
  }
  const other = traceOfSeed("unknown 1");
  for (const text of [other, "", "one", "g".repeat(32)]) expect(await listedOfTrace(app, text)).toEqual([]);
  await app.close();
});

test("the first digits of ids are spread, so that a share of them can be chosen", () => {
  const first = Array.from(
    { length: 2_000 },
    (_, n) => Number.parseInt(traceOfSeed(`run-${n} x`).slice(0, 13), 16) / 2 ** 52,
  );
  const low = first.filter((share) => share < 0.25).length;
  expect(low).toBeGreaterThan(400);
  expect(low).toBeLessThan(600);
});
