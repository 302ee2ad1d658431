/** Crash tests of long workflows: a sample of the cases, in a limited time, and a report that says so. */

import { durable } from "@durable/core";
import { crashEverywhere } from "@durable/testing";
import { expect, test, vi } from "vitest";

const flow = durable("six", async (ctx) => {
  for (let i = 0; i < 6; i++) await ctx.step("turn", () => i);
  return "done";
});

test("a sample by seed: the same cases for the same seed, in the order of the boundaries", async () => {
  const sample = async (seed: number): Promise<string[]> => {
    const { ok, cases, totals } = await crashEverywhere(flow, { cases: 6, seed });
    expect(ok).toBe(true);
    expect(totals).toMatchObject({ cases: 6, possible: 40, boundaries: 8 });
    const indexes = cases.map(({ point }) => point.index);
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
    return cases.map(({ point, fault }) => `${point.index} ${fault}`);
  };
  const one = await sample(1);
  expect(await sample(1)).toEqual(one);
  expect(await sample(2)).not.toEqual(one);
});

test("a budget that is used up: one case is tried, and the first two lines say so", async () => {
  const report = await crashEverywhere(flow, { within: 0 });
  expect(report.totals).toMatchObject({ cases: 1, possible: 40 });
  const [first, second] = report.text().split("\n");
  expect(first).toBe("six: 1 of 40 cases tried, and all end as in calm (completed with 'done')");
  expect(second).toContain('39 cases not tried; { within: "1m" } allows more');
  expect(report.text()).toContain("not tried");
});

test("the environment sets the default, for a job that has more time", async () => {
  vi.stubEnv("DURABLE_TEST_WITHIN", "0s");
  try {
    expect((await crashEverywhere(flow)).totals.cases).toBe(1);
    expect((await crashEverywhere(flow, { within: "1h", faults: ["crash-before"] })).totals.cases).toBe(8);
    vi.stubEnv("DURABLE_TEST_WITHIN", "soon");
    await expect(crashEverywhere(flow)).rejects.toThrow(/DURABLE_TEST_WITHIN is "soon"/);
  } finally {
    vi.unstubAllEnvs();
  }
});
