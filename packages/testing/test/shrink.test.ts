/** From a failure to the shortest history: on a sound engine, failures are made by a program that breaks a promise. */

import { describe, expect, test } from "vitest";
import { planOf, shrink, simulate, eventTable, describeTree, type Program } from "../src/sim/index.ts";

/** Asks for another step each time its function runs: chance that no journal knows of. */
const fickle: Program = {
  name: "flow-0",
  body: (_code, around) => async (ctx) => {
    const pass = Number(/\d+/.exec(around.nonce() ?? "0")?.[0]);
    await ctx.step("one", () => 1);
    await ctx.suspend("ask");
    return pass % 2 === 0 ? ctx.step("even", () => pass) : ctx.step("odd", () => pass);
  },
  answer: () => ({ value: "yes" }),
  mayFail: true,
  judge: () => null,
};

describe("shrink", () => {
  test("leaves out what a failure does not need", async () => {
    const programs = [fickle];
    const plan = planOf(12);
    const actions = planOf(30).actions.filter(({ kind }) => kind !== "deploy");
    const runs = plan.runs.map((run) => ({ ...run, flow: 0 }));
    const failed = await simulate({ plan: { ...plan, calm: false, flows: [], runs, actions }, programs });
    expect(failed.violations.length).toBeGreaterThan(0);
    const { plan: small, simulation } = await shrink(failed, { programs, budgetMs: 20_000 });
    expect(simulation.violations[0]?.invariant).toBe(failed.violations[0]?.invariant);
    expect(small.runs).toHaveLength(1);
    expect(small.workers).toBe(1);
    expect(small.actions.length).toBeLessThan(actions.length);
    expect(small.only).toEqual([]);
    expect(eventTable(simulation)).toMatch(/disk +run-\d 1: run\.started/);
  });

  test("a tree reads like code", () => {
    const text = describeTree({
      kind: "parallel",
      name: "sides",
      plain: false,
      settled: false,
      concurrency: null,
      shares: false,
      nodes: [
        { kind: "step", name: "plan", ms: 5, fails: 2, timeoutMs: null, typed: false },
        {
          kind: "suspend",
          name: "ask",
          timeoutMs: 20,
          fallback: true,
          checked: false,
          slowMs: 0,
          mailed: true,
        },
      ],
    });
    expect(text).toBe(
      'ctx.parallel\n  step "plan" 5 ms, fails 2 times\n  suspend "ask" (token mailed first, at most 20 ms, with a fallback)',
    );
  });
});
