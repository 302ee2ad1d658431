/** Single faults, plans that once failed, and the simulator itself; seeds are swept in files of their own. */

import { describe, expect, test } from "vitest";
import { exhaust, planOf, simulate, type Plan } from "../src/sim/index.ts";
import { sizeOf } from "../src/sim/tree.ts";
import regressions from "./sim-regressions.json" with { type: "json" };
import { complaintOf } from "./support/sim-sweep.ts";

test("H10 a single fault at every request of generated workflows", { timeout: 600_000 }, async () => {
  let cases = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const plan = planOf(seed * 1_000);
    const { failed, cases: done } = await exhaust({ ...plan, runs: plan.runs.slice(0, 1), workers: 2 });
    cases += done;
    expect(failed === null ? "" : complaintOf(failed)).toBe("");
  }
  expect(cases).toBeGreaterThan(1_000);
});

describe("plans that once failed", () => {
  test.each(regressions as unknown as { found: string; plan: Plan }[])("$found", async ({ plan }) => {
    expect(complaintOf(await simulate({ plan }))).toBe("");
  });
});

describe("a simulation", () => {
  test("is the same every time for one seed", async () => {
    const [one, two] = [await simulate({ seed: 77, trace: true }), await simulate({ seed: 77, trace: true })];
    expect(one.events).toBeGreaterThan(100);
    expect(two.trace).toEqual(one.trace);
  });

  test("runs workflows of 5 to 40 nodes, or a few more", () => {
    const plans = Array.from({ length: 300 }, (_, seed) => planOf(seed));
    const sizes = plans.flatMap(({ flows }) => flows.map(({ tree }) => sizeOf(tree)));
    expect(Math.max(...sizes)).toBeGreaterThan(30);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(50);
  });

  test("runs one to four workers, in every kind of schedule", () => {
    const plans = Array.from({ length: 100 }, (_, seed) => planOf(seed));
    expect(new Set(plans.map(({ workers }) => workers))).toEqual(new Set([1, 2, 3, 4]));
    expect(new Set(plans.map(({ schedule }) => schedule))).toEqual(new Set(["random", "priorities"]));
  });
});
