/** The goals that the project has set itself, and whether this run meets them. */

import type { WorkloadId } from "../workloads.ts";
import type { FiguresOf } from "./figures.ts";
import { formatFigure as show } from "./format.ts";

export interface Goal {
  readonly workload: string;
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

/** What goals are computed from. */
interface Measured {
  /** A figure of ours on SQLite. */
  readonly ours: (workload: WorkloadId, figure?: string) => number;
  readonly value: (workload: WorkloadId, subject: string, figure?: string) => number;
  readonly bestPeer: (workload: WorkloadId) => number;
  /** Milliseconds of one commit, by the floor. */
  readonly commitMs: number;
}

interface Check {
  readonly workload: string;
  readonly goal: string;
  /** Not a number when something was not measured. */
  readonly figure: (given: Measured) => number;
  readonly unit: string;
  readonly least?: number;
  readonly most?: number | ((given: Measured) => number);
}

const checks: readonly Check[] = [
  {
    workload: "A",
    goal: "at least 0.8 of the floor of commits",
    figure: ({ ours, value }) => ours("A") / value("A", "floor-sqlite"),
    unit: "of the floor",
    least: 0.8,
  },
  {
    workload: "A",
    goal: "ahead of every synced peer",
    figure: ({ ours, bestPeer }) => ours("A") / bestPeer("A"),
    unit: "times the best peer",
    least: 1,
  },
  {
    workload: "B",
    goal: "at least 20 times the best synced peer",
    figure: ({ ours, bestPeer }) => ours("B") / bestPeer("B"),
    unit: "times",
    least: 20,
  },
  {
    workload: "C",
    goal: "at most 5 times reading and parsing the rows, both over a bare start",
    figure: ({ ours, value }) => ours("C") / value("C", "floor-sqlite"),
    unit: "times",
    most: 5,
  },
  {
    workload: "C",
    goal: "replay alone: at most 5 times reading and parsing the rows",
    figure: ({ ours, value }) => ours("C", "replayMs") / value("C", "floor-sqlite", "replayMs"),
    unit: "times",
    most: 5,
  },
  {
    workload: "C",
    goal: "ahead of every synced peer",
    figure: ({ ours, bestPeer }) => ours("C") / bestPeer("C"),
    unit: "of the time of the best peer",
    most: 1,
  },
  {
    workload: "D",
    goal: "at most 5 commits of a busy loop",
    figure: ({ ours, commitMs }) => ours("D") / commitMs,
    unit: "commits",
    most: 5,
  },
  {
    workload: "D",
    goal: "at most 5 commits, each after the same 50 ms of rest",
    figure: ({ ours, value }) => ours("D") / value("D", "floor-sqlite"),
    unit: "commits",
    most: 5,
  },
  {
    workload: "E",
    goal: "at most 3 commits and 20 microseconds a step",
    figure: ({ ours }) => ours("E"),
    unit: "ms",
    most: ({ commitMs }) => 3 * commitMs + 500 * 0.02,
  },
  {
    workload: "F",
    goal: "at most 100 bytes more than 1.5 times the payload of 4 bytes",
    figure: ({ ours }) => ours("F"),
    unit: "bytes",
    most: 106,
  },
  {
    workload: "G",
    goal: "100,000 suspended runs, at least 2,000 a second",
    figure: ({ ours }) => ours("G100k"),
    unit: "runs/s",
    least: 2_000,
  },
  {
    workload: "G",
    goal: "heap flat from 2,000 runs on",
    figure: ({ ours }) => ours("G100k", "heapSlope"),
    unit: "bytes per further run",
    most: 32,
  },
  {
    workload: "H",
    goal: "import and open: at most 60 ms over a bare start",
    figure: ({ ours }) => ours("H", "openMs"),
    unit: "ms",
    most: 60,
  },
  {
    workload: "H",
    goal: "with a run of one step: at most 60 ms over a bare start",
    figure: ({ ours }) => ours("H"),
    unit: "ms",
    most: 60,
  },
  {
    workload: "I",
    goal: "at most twice a resume of the same length",
    figure: ({ ours }) => ours("I") / ours("I", "resumeMs"),
    unit: "times",
    most: 2,
  },
  {
    workload: "A, Postgres",
    goal: "at least 0.8 of one INSERT per commit",
    figure: ({ value }) => value("A", "ours-postgres") / value("A", "floor-postgres"),
    unit: "of the floor",
    least: 0.8,
  },
  {
    workload: "B, Postgres",
    goal: "steps per second: at least 3 times one INSERT per commit",
    figure: ({ value }) => (5 * value("B", "ours-postgres")) / value("A", "floor-postgres"),
    unit: "times",
    least: 3,
  },
  {
    workload: "A, bucket",
    goal: "at least 0.8 of one PUT at a time",
    figure: ({ value }) => value("A", "ours-bucket") / value("A", "floor-bucket"),
    unit: "of the floor",
    least: 0.8,
  },
];

/** Goals whose figures are in the report. */
export function goalsOf(figures: FiguresOf): Goal[] {
  const given: Measured = {
    ours: (workload, figure) => figures.value(workload, "ours-sqlite", figure),
    value: (workload, subject, figure) => figures.value(workload, subject, figure),
    bestPeer: (id) => {
      const workload = figures.workloads.find((each) => each.id === id);
      return (workload && figures.bestPeer(workload)?.value) ?? Number.NaN;
    },
    commitMs: 1_000 / figures.value("A", "floor-sqlite"),
  };
  return checks.flatMap(({ workload, goal, figure, unit, least = -Infinity, most = Infinity }) => {
    const [value, limit] = [figure(given), typeof most === "number" ? most : most(given)];
    // A time below zero is noise: a bare start that was slower than the process it is subtracted from.
    if (!Number.isFinite(value) || Number.isNaN(limit) || (value < 0 && workload !== "G")) return [];
    const met = value >= least && value <= limit;
    return [{ workload, goal, measured: `${show(value)} ${unit}`, met }];
  });
}
