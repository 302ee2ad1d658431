/** Shrinks failing plans. The engine is correct, so the failures come from a program that breaks an invariant. */

import { describe, expect, test } from "vitest";
import { planOf, shrink, simulate, eventTable, describeTree } from "../src/index.ts";
import type { Program } from "../src/program.ts";
import { smaller, smallerVersions } from "../src/shrink.ts";
import { renamedTree, type Tree } from "../src/tree.ts";

/** Calls another step each time its function runs: randomness that is not journaled. */
const fickle: Program = {
  name: "flow-0",
  body: (_code, environment) => async (ctx) => {
    const pass = Number(/\d+/.exec(environment.nonce() ?? "0")?.[0]);
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

  test("a version that only renames waits still does, however small it gets", () => {
    const step: Tree = { kind: "step", name: "plan", ms: 5, fails: 0, timeoutMs: null, typed: false };
    const of = { timeoutMs: null, fallback: false, checked: false, slowMs: 0, mailed: false };
    const tree: Tree = { kind: "sequence", nodes: [{ kind: "suspend", name: "ask", ...of }, step] };
    const flow = { name: "flow-0", tree, changed: renamedTree(tree, true), compatible: true };
    const versions = smallerVersions(flow);
    expect(versions.length).toBeGreaterThan(2);
    for (const less of versions) expect(less.changed).toEqual(renamedTree(less.tree, true));
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

  test("so does one with children, streams and effects", () => {
    const pay = {
      kind: "step",
      name: "suspend pay",
      ms: 0,
      fails: 0,
      timeoutMs: null,
      typed: false,
    } as const;
    const text = describeTree({
      kind: "child",
      name: "helper-1",
      node: {
        kind: "map",
        name: "sides",
        items: 2,
        keyed: true,
        concurrency: null,
        node: {
          kind: "sequence",
          nodes: [
            { kind: "stream", name: "feed", chunks: 3, ms: 30, fails: 1 },
            { ...pay, onUncertain: "suspend", large: "text" },
          ],
        },
      },
    });
    expect(text.split("\n")).toEqual([
      'ctx.child "helper-1"',
      "  ctx.map of 2 items with keys",
      "    in sequence",
      '      stream "feed" of 3 chunks, 30 ms each, fails 1 times',
      '      step "suspend pay" 0 ms, returns much (text), onUncertain suspend',
    ]);
  });

  test("a tree is cut down to the node that matters", () => {
    const plan: Tree = {
      kind: "step",
      name: "plan",
      ms: 5,
      fails: 2,
      timeoutMs: 9,
      typed: false,
      large: "list",
    };
    const pay: Tree = { ...plan, name: "retry pay", onUncertain: "retry" };
    const feed: Tree = { kind: "stream", name: "feed", chunks: 6, ms: 30, fails: 1 };
    const map = { kind: "map", name: "sides", items: 3, keyed: true, concurrency: null } as const;
    const tree: Tree = {
      kind: "child",
      name: "helper-1",
      node: { ...map, node: { kind: "sequence", nodes: [plan, feed, pay] } },
    };
    const cut = (matters: RegExp): string => {
      let left: Tree = tree;
      for (let less: Tree | undefined = tree; less !== undefined;) {
        left = less;
        less = smaller(left).find((candidate) => matters.test(describeTree(candidate)));
      }
      return describeTree(left);
    };
    expect(cut(/stream/)).toBe('stream "feed" of 1 chunks, 0 ms each');
    expect(cut(/onUncertain/)).toBe('step "retry pay" 0 ms, onUncertain retry');
    expect(cut(/child[^]*step "plan"/)).toBe('ctx.child "helper-1"\n  step "plan" 0 ms');
    expect(cut(/map of/)).toBe('ctx.map of 1 items with keys\n  step "plan" 0 ms');
  });
});
