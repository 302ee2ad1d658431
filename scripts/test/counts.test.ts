/** The guard against regressions of work: it passes now, and it notices extra work of every kind by name. */

import { expect, inject, test } from "vitest";
import { baselineFile, compareCounts, countPlanted, countWork, readBaseline } from "../lib/counts/counts.ts";
import type { Plant } from "../lib/counts/meters.ts";

const baseline = readBaseline();

test("no fixed workload does more than 10 percent more work than its baseline", async () => {
  // The long workloads are counted in `npm run test:full`.
  const isShort = (name: string): boolean => !name.includes("2,000");
  const all = Object.keys(baseline.counts);
  const counts = await countWork(inject("full") ? [] : all.filter(isShort));
  expect(compareCounts(baseline, counts)).toEqual([]);
  expect(Object.keys(counts)).toEqual(inject("full") ? all : all.filter(isShort));
  for (const plain of ["2,000 steps", "resume after 2,000 steps"]) {
    const without = counts[plain] ?? {};
    for (const [name, count] of Object.entries(counts[`${plain}, hooks`] ?? {}))
      expect(count, `${plain}: ${name} with hooks`).toBeLessThanOrEqual((without[name] ?? 0) * 1.1);
  }
});

const plants: [Plant, string, RegExp][] = [
  ["reads", "a storage that reads twice", /^resume after 200 steps: reads is 2; the baseline is 1/],
  [
    "appends",
    "a storage that tries each append twice",
    /^200 steps: appends is 406; the baseline is 203, 100 percent over it/,
  ],
  [
    "barriers",
    "two barriers per delivery",
    /^200 steps: barriers is 404; the baseline is 202, 100 percent over it/,
  ],
  ["decodes", "a batch that is parsed after it was written", /^200 steps: decodes is 203; the baseline is 0/],
  [
    "encodes",
    "a head that is encoded for each append",
    /^200 steps: encodes is \d+; the baseline is \d+, 33 percent/,
  ],
  [
    "allocated",
    "objects that are thrown away",
    /^200 steps: allocated is \d+; the baseline is \d+, \d+ percent/,
  ],
];

// Each is a process of its own; one of them here, all in `npm run test:full`.
const planted = inject("full") ? plants : plants.filter(([plant]) => plant === "allocated");

test.each(planted)("planted work is noticed: %s, %s", (plant, _what, message) => {
  const problems = compareCounts(baseline, countPlanted(plant, ["200 steps", "resume after 200 steps"]));
  expect(problems.filter((problem) => message.test(problem))).toHaveLength(1);
  expect(problems[0]).toContain('run "npm run counts -- --write"');
  expect(problems[0]).toContain(baselineFile);
});

test("a count without a baseline is a problem, and 10 percent more are none", () => {
  const known = { node: "26.0.0", counts: { work: { reads: 10, allocated: 100 } } };
  expect(compareCounts(known, { work: { reads: 11, allocated: 110 } }, "26.9.9")).toEqual([]);
  expect(compareCounts(known, { work: { reads: 12 } }, "26.9.9")).toHaveLength(1);
  expect(compareCounts(known, { work: { lists: 0 } }, "26.9.9")[0]).toMatch(/^work: lists has no baseline/);
});

test("allocations are not compared between versions of Node, because each allocates differently", () => {
  const known = { node: "26.0.0", counts: { work: { reads: 10, allocated: 100 } } };
  expect(compareCounts(known, { work: { reads: 10, allocated: 200 } }, "26.1.0")).toHaveLength(1);
  expect(compareCounts(known, { work: { reads: 10, allocated: 200 } }, "24.1.0")).toEqual([]);
});
