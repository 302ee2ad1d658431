/** The reports of the benchmarks: medians, the slope of memory, goals, losses, and the section of the comparison. */

import { expect, test } from "vitest";
import { FiguresOf } from "../../bench/src/report/figures.ts";
import { goalsOf } from "../../bench/src/report/goals.ts";
import { toMarkdown } from "../../bench/src/report/markdown.ts";
import type { Report } from "../../bench/src/report/report.ts";
import { withSection } from "../../bench/src/report/section.ts";
import { toSvg } from "../../bench/src/report/svg.ts";
import { slope } from "../../bench/src/workloads.ts";

const rounds = (...values: number[]): { value: number }[] => values.map((value) => ({ value }));

const report: Report = {
  date: "2026-11-16",
  command: "npm run bench",
  rounds: 3,
  divide: 1,
  machine: { os: "linux", arch: "arm64", cores: 2, cpu: "a CPU", memoryGb: 8, node: "26.10.0", load: 0 },
  versions: { openworkflow: "0.10.1" },
  weights: {},
  cells: [
    { workload: "A", subject: "ours-sqlite", rounds: rounds(1_000, 3_000, 2_000) },
    { workload: "A", subject: "floor-sqlite", rounds: rounds(4_000, 2_500, 2_000) },
    { workload: "A", subject: "openworkflow-sqlite", rounds: rounds(500) },
    { workload: "A", subject: "resonate", rounds: rounds(9_000) },
    { workload: "A", subject: "absurd", rounds: [], skipped: "its schema is missing" },
  ],
};

test("a figure is the median of its rounds, and unsynced peers are not the best peer", () => {
  const figures = new FiguresOf(report);
  expect(figures.value("A", "ours-sqlite")).toBe(2_000);
  expect(figures.value("A", "absurd")).toBeNaN();
  expect(figures.bestPeer(figures.workloads[0]!)?.subject.name).toBe("openworkflow-sqlite");
});

test("goals are judged where their figures are known", () => {
  expect(goalsOf(new FiguresOf(report))).toEqual([
    {
      workload: "A",
      goal: "at least 0.8 of the floor of commits",
      measured: "0.80 of the floor",
      met: true,
    },
    { workload: "A", goal: "ahead of every synced peer", measured: "4.00 times the best peer", met: true },
  ]);
});

test("the page names what was left out, and the chart has a bar per figure", () => {
  expect(toMarkdown(report)).toContain("| Absurd, Postgres | all | its schema is missing |");
  expect(toSvg(report).match(/class="value"/g)).toHaveLength(4);
});

test("the comparison says where a peer is better", () => {
  const page = withSection("before <!-- bench:begin --> old <!-- bench:end --> after", report, "day");
  expect(page).toMatch(/^before <!-- bench:begin -->/);
  expect(page).toMatch(/<!-- bench:end --> after$/);
  expect(page).not.toContain("old");
  expect(page).toContain("- **A** (2,000): Resonate, local memory \\* (9,000)");
  expect(() => withSection("no marks", report, "day")).toThrow("needs the marks");
});

test("the slope of memory is that of a line through its points", () => {
  expect(slope({ "heap@2000": 5_000, "heap@4000": 5_000, "heap@6000": 5_000 })).toBe(0);
  expect(slope({ "heap@2000": 1_000, "heap@4000": 3_000, "heap@6000": 5_000 })).toBe(1);
});
