/** Single faults, saved plans that once failed, and the simulator itself. The sweeps have files of their own. */

import { describe, expect, inject, test } from "vitest";
import { describeTree, exhaust, planOf, simulate } from "../src/index.ts";
import type { Plan } from "../src/plan.ts";
import { sizeOf, type Tree } from "../src/tree.ts";
import regressions from "./sim-regressions.json" with { type: "json" };
import { complaintOf } from "./support/sim-sweep.ts";

test("H10 a single fault at every request of generated workflows", { timeout: 600_000 }, async () => {
  let cases = 0;
  // Many have more than 100 requests. That of the sample is short, with a request of each kind.
  const plans = inject("full") ? [1, 2, 6, 7, 8] : [25];
  for (const seed of plans) {
    const plan = planOf(seed * 1_000);
    const { failed, cases: done } = await exhaust({ ...plan, runs: plan.runs.slice(0, 1), workers: 2 });
    cases += done;
    expect(failed === null ? "" : complaintOf(failed)).toBe("");
  }
  expect(cases).toBeGreaterThan((inject("full") ? 100 : 40) * plans.length);
});

describe("plans that once failed", () => {
  const all = regressions as unknown as { found: string; plan: Plan }[];
  // In a sample, one plan for each bug: some have several, of different seeds.
  const bugOf = ({ found }: { found: string }): string => found.replace(/, seed \d+$/, "");
  const isFirst = (one: (typeof all)[number]): boolean =>
    all.find((other) => bugOf(other) === bugOf(one)) === one;
  test.each(inject("full") ? all : all.filter(isFirst))("$found", async ({ plan }) => {
    expect(complaintOf(await simulate({ plan }))).toBe("");
  });
});

describe("a simulation", () => {
  const usual = inject("full") ? 77 : 67;
  const plans = Array.from({ length: 300 }, (_, seed) => planOf(seed));

  test("is the same every time for one seed, also with encryption, readers and warm runs", async () => {
    const plan = { ...planOf(usual), encrypted: true, warm: 2, readers: 1, records: 4 };
    const [one, two] = [await simulate({ plan, trace: true }), await simulate({ plan, trace: true })];
    expect(one.events).toBeGreaterThan(100);
    expect(two.trace).toEqual(one.trace);
  });

  test("runs plans from before streams, children, readers and encryption existed", async () => {
    const { encrypted: _, warm: _w, readers: _r, records: _n, privateChildren: _p, ...plan } = planOf(usual);
    const tree: Tree = { kind: "step", name: "plan", ms: 5, fails: 1, timeoutMs: null, typed: true };
    const old = { ...plan, flows: plan.flows.map(({ name }) => ({ name, tree, changed: tree })) };
    const { violations, runs } = await simulate({ plan: old });
    expect(violations).toEqual([]);
    expect(runs).toBeGreaterThan(0);
  });

  test("every workflow has a stream, a child, a map or an effect", () => {
    const trees = plans.flatMap(({ flows }) => flows.filter(({ name }) => !/^(killer|flow-of-)/.test(name)));
    for (const { tree } of trees)
      expect(describeTree(tree)).toMatch(/stream|ctx\.child|ctx\.map|onUncertain/);
    const all = trees.map(({ tree }) => describeTree(tree)).join("\n");
    for (const rule of ["retry", "suspend", "reconcile"]) expect(all).toContain(`onUncertain ${rule}`);
    for (const large of ["list", "text", "fields"]) expect(all).toContain(`returns much (${large})`);
  });

  test("some workflows and children run in chapters, and most in one", () => {
    const flows = plans.flatMap((plan) => plan.flows);
    const trees = flows.map(({ tree }) => describeTree(tree));
    const continued = trees.filter((text) => text.startsWith("ctx.continueAs after each"));
    expect(continued.length).toBeGreaterThan(30);
    expect(continued.length).toBeLessThan(trees.length / 3);
    expect(trees.join("\n")).toMatch(/ctx\.child.*\n *ctx\.continueAs after each/);
    expect(trees.join("\n")).toContain("left open");
  });

  test("runs workflows of 5 to 40 nodes, and what features add to them", () => {
    const sizes = plans.flatMap(({ flows }) => flows.map(({ tree }) => sizeOf(tree)));
    expect(Math.max(...sizes)).toBeGreaterThan(30);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(80);
  });

  test("runs one to four workers, in every kind of schedule", () => {
    const first = plans.slice(0, 100);
    expect(new Set(first.map(({ workers }) => workers))).toEqual(new Set([1, 2, 3, 4]));
    expect(new Set(first.map(({ schedule }) => schedule))).toEqual(new Set(["random", "priorities"]));
  });
});
