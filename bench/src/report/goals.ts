/** The goals that the project has set itself, and whether this run meets them. */

import { FiguresOf } from "./figures.ts";
import { formatFigure } from "./format.ts";

export interface Goal {
  readonly workload: string;
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

/** Goals whose figures are in the report. */
export function goalsOf(figures: FiguresOf): Goal[] {
  const v = (workload: Parameters<FiguresOf["value"]>[0], subject: string, figure?: string): number =>
    figures.value(workload, subject, figure);
  const best = (id: string): number => {
    const workload = figures.workloads.find((each) => each.id === id);
    return (workload && figures.bestPeer(workload)?.value) ?? Number.NaN;
  };
  const commitMs = 1_000 / v("A", "floor-sqlite");
  const show = formatFigure;
  const [a, aFloor] = [v("A", "ours-sqlite"), v("A", "floor-sqlite")];
  const [b, bPeer] = [v("B", "ours-sqlite"), best("B")];
  const [c, cFloor, cPeer] = [v("C", "ours-sqlite"), v("C", "floor-sqlite", "replayMs"), best("C")];
  const [d, e, f, h] = (["D", "E", "F", "H"] as const).map((id) => v(id, "ours-sqlite"));
  const [i, resume] = [v("I", "ours-sqlite"), v("I", "ours-sqlite", "resumeMs")];
  const [aPg, bPg, pgFloor] = [v("A", "ours-postgres"), v("B", "ours-postgres"), v("A", "floor-postgres")];
  const [g, slope] = [v("G100k", "ours-sqlite"), v("G100k", "ours-sqlite", "heapSlope")];
  const times = (x: number): string => `${show(x)} times`;
  const goals: (readonly [workload: string, goal: string, measured: string, met: boolean, known: number])[] =
    [
      ["A", "at least 0.8 of the floor of commits", show(a / aFloor), a / aFloor >= 0.8, a / aFloor],
      ["B", "at least 20 times the best synced peer", times(b / bPeer), b / bPeer >= 20, b / bPeer],
      ["C", "at most 5 times reading and parsing the rows", times(c / cFloor), c / cFloor <= 5, c / cFloor],
      ["C", "ahead of every synced peer", `${show(c)} ms against ${show(cPeer)} ms`, c < cPeer, c - cPeer],
      [
        "D",
        "at most 5 commits",
        `${show((d ?? 0) / commitMs)} commits`,
        (d ?? 0) / commitMs <= 5,
        (d ?? 0) / commitMs,
      ],
      [
        "E",
        `at most 3 commits and 20 microseconds a step: ${show(3 * commitMs + 10)} ms`,
        `${show(e ?? 0)} ms`,
        (e ?? 0) <= 3 * commitMs + 10,
        (e ?? 0) + commitMs,
      ],
      [
        "F",
        "at most 100 bytes more than 1.5 times the payload",
        `${show(f ?? 0)} bytes`,
        (f ?? 0) <= 106,
        f ?? 0,
      ],
      ["G", "100,000 suspended runs, at least 2,000 a second", `${show(g)} runs/s`, g >= 2_000, g],
      ["G", "heap flat from 2,000 runs on", `${show(slope)} bytes a run`, Math.abs(slope) < 32, slope],
      ["H", "at most 60 ms over a bare start", `${show(h ?? 0)} ms`, (h ?? 0) <= 60, h ?? Number.NaN],
      ["I", "at most twice a resume of the same length", times(i / resume), i / resume <= 2, i / resume],
      [
        "A, Postgres",
        "at least 0.8 of one INSERT per commit",
        show(aPg / pgFloor),
        aPg / pgFloor >= 0.8,
        aPg / pgFloor,
      ],
      [
        "B, Postgres",
        "5 steps in flight: at least 3 times one INSERT per commit",
        times((bPg * 5) / pgFloor),
        (bPg * 5) / pgFloor >= 3,
        bPg / pgFloor,
      ],
    ];
  return goals
    .filter(([, , , , known]) => Number.isFinite(known))
    .map(([workload, goal, measured, met]) => ({ workload, goal, measured, met }));
}
