/** What a report says of time and money: of each variant, and of each run. */

import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { expect, test } from "vitest";
import { evaluate, exact } from "../src/index.ts";

const runs = 21;

/** Runs that plan for 7 seconds, look something up for a minute, draft, check and answer; a clock that only they move. */
function planners(prices?: { readonly m: { readonly input: number; readonly output: number } }) {
  let clock = 1_800_000_000_000;
  const world = { ...systemWorld, now: () => clock };
  const ask = (ctx: Context, name: string, ms: number) =>
    ctx.step(
      name,
      ({ meter }) => {
        clock += ms;
        meter({ model: "m", inputTokens: 1_000, outputTokens: 0 });
        return `${name} in ${ms}`;
      },
      { model: true },
    );
  const flow = (msOf: (i: number) => number) =>
    durable("planner", async (ctx: Context, i: number) => {
      await ask(ctx, "plan", 7_000);
      await ctx.step("look", () => void (clock += 60_000));
      await ask(ctx, "draft", 2_000 * msOf(i));
      await ctx.step("check", () => void (clock += 60_000));
      return ask(ctx, "answer", 1_000 * msOf(i));
    });
  const given = { storage: new MemoryStorage(), bind: false, world, ...(prices && { prices }) };
  const app = createApp({ ...given, workflows: [flow((i) => i + 1)] });
  const other = createApp({ ...given, storage: new MemoryStorage(), workflows: [flow((i) => (i + 1) / 2)] });
  const report = async () => {
    const ids = Array.from({ length: runs }, (_, i) => `run-${i}`);
    for (const [i, id] of ids.entries()) await app.run("planner", i, { id });
    return evaluate(app, {
      name: "faster",
      runs: ids,
      from: "draft",
      variants: [{ name: "half", app: other }],
      score: { same: exact() },
      concurrency: 1,
    });
  };
  return { app, report };
}

test("the time of a variant is that of the models after the cut, and the record has the same calls", async () => {
  const { app, report } = planners();
  const found = await report();
  // 3 to 63 seconds: neither the plan before the cut, nor what tools do.
  expect(found.variants.map(({ time }) => time)).toEqual([
    { median: 33_000, p95: 60_000 },
    { median: 16_500, p95: 30_000 },
  ]);
  expect(found.text()).toContain("33.0 s (p95 1.0 min)");
  expect(found.markdown().replaceAll("\\", "")).toContain("33.0 s (p95 1.0 min)");
  expect(found.html()).toMatch(/<th scope="row">Time.*<b>16\.5 s<\/b><small>p95 30\.0 s<\/small>/);
  const kept = await app.list({ workflow: "eval-report", eval: true });
  const [first] = await app.get(kept.runs[0]!.runId).entries();
  expect(first).toMatchObject({
    input: { variants: [{ time: { p95: 60_000 } }, { time: { median: 16_500 } }] },
  });
});

test("each run has what was paid for it, and what was reused", async () => {
  const found = await planners({ m: { input: 10, output: 0 } }).report();
  for (const one of found.cases)
    expect(one).toMatchObject({ paid: { calls: 2, cost: 0.02 }, reused: { calls: 1, cost: 0.01 } });
  const line = "1 of 3 answers reused: $0.0200 paid, $0.0100 saved";
  for (const form of [found.text(), found.markdown(), found.html()]) expect(form).toContain(line);
  const unpriced = await planners().report();
  expect(unpriced.text()).toContain("1 of 3 answers reused: 2.0k tokens paid, 1.0k tokens saved");
});

test("where nothing was asked, there is neither a time nor a line of costs", async () => {
  const flow = (answer: string) =>
    durable("plain", (ctx: Context) => ctx.step("say", () => answer, { model: true }));
  const app = createApp({ storage: new MemoryStorage(), bind: false, workflows: [flow("old")] });
  await app.run("plain", undefined, { id: "r" });
  const other = createApp({ storage: new MemoryStorage(), bind: false, workflows: [flow("new")] });
  const found = await evaluate(app, {
    name: "plain",
    runs: ["r"],
    from: "say",
    variants: [{ name: "v", app: other }],
    score: { same: exact() },
  });
  expect(found.variants.map(({ time }) => time)).toEqual([null, null]);
  for (const form of [found.text(), found.markdown(), found.html()]) expect(form).not.toMatch(/p95|reused/);
});
