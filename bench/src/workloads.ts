/** The workloads, from outside: which processes are started for a measurement, and what is made of their figures. */

import type { Result, Task } from "./measure.ts";

export type WorkloadId = "A" | "B" | "B1000" | "C" | "D" | "E" | "F" | "G" | "G100k" | "H" | "I";

/** What a workload may use. */
export interface Bench {
  /** Starts a process for a task, with the time at which it was started. */
  readonly child: (task: Omit<Task, "module" | "place">) => Promise<Result & { readonly startedAt: number }>;
  /** Milliseconds that a process takes which does nothing, measured now. */
  readonly bareStart: () => Promise<number>;
  /** How many bytes the subject keeps on disk now. */
  readonly bytes: () => Promise<number>;
  /** The size of a workload, divided where a subject is slow. */
  readonly size: (many: number, least?: number) => number;
  readonly mostSteps: number;
}

export interface Workload {
  readonly id: WorkloadId;
  readonly title: string;
  readonly unit: string;
  readonly better: "more" | "less";
  /** More than one process uses the same data. */
  readonly lasting: boolean;
  run(bench: Bench): Promise<Readonly<Record<string, number>> & { readonly value: number }>;
}

const perSecond = (count: number, { figures: { ms = 0, firstMs } }: Result): { value: number } => ({
  value: (count / ms) * 1_000,
  ...(firstMs !== undefined && { first: (count / firstMs) * 1_000 }),
});
const msOf = ({ figures: { ms = 0, firstMs, ...more } }: Result): { value: number } => ({
  value: ms,
  ...(firstMs !== undefined && { first: firstMs }),
  ...more,
});

function runsOf(inFlight: number): Workload["run"] {
  return async ({ child, size }) => {
    const runs = size(Math.max(500, inFlight), 50);
    return perSecond(runs, await child({ action: "runs", steps: 5, runs, inFlight }));
  };
}

export const workloads: readonly Workload[] = [
  {
    id: "A",
    title: "one run, 1,000 steps one after the other",
    unit: "steps/s",
    better: "more",
    lasting: false,
    run: async ({ child, size, mostSteps }) => {
      const steps = Math.min(size(1_000, 100), mostSteps);
      return perSecond(steps, await child({ action: "steps", steps }));
    },
  },
  {
    id: "B",
    title: "runs of 5 steps, 100 in flight",
    unit: "runs/s",
    better: "more",
    lasting: false,
    run: runsOf(100),
  },
  {
    id: "B1000",
    title: "runs of 5 steps, 1,000 in flight",
    unit: "runs/s",
    better: "more",
    lasting: false,
    run: runsOf(1_000),
  },
  {
    id: "C",
    title: "a fresh process resumes a run of 2,000 steps, until the body of the next step",
    unit: "ms",
    better: "less",
    lasting: true,
    run: async ({ child, bareStart, size, mostSteps }) => {
      const steps = Math.min(size(2_000, 200), mostSteps);
      const { token = "" } = await child({ action: "record", steps });
      const bareMs = await bareStart();
      const { figures, startedAt } = await child({ action: "resume", steps, token });
      const { at = 0, replayMs = 0 } = figures;
      return { value: at - startedAt - bareMs, replayMs, bareMs, steps };
    },
  },
  {
    id: "D",
    title: "answer of a waiting run, until the body of its next step (p50)",
    unit: "ms",
    better: "less",
    lasting: false,
    run: async ({ child, size }) => msOf(await child({ action: "delay", steps: 1, runs: size(30, 5) })),
  },
  {
    id: "E",
    title: "one run, 500 steps at once",
    unit: "ms",
    better: "less",
    lasting: false,
    run: async ({ child, size }) =>
      msOf(await child({ action: "steps", steps: size(500, 500), parallel: true })),
  },
  {
    id: "F",
    title: "bytes on disk per step",
    unit: "bytes",
    better: "less",
    lasting: true,
    run: async ({ child, bytes, size, mostSteps }) => {
      await child({ action: "record", steps: 2 });
      const before = await bytes();
      const steps = Math.min(size(2_000, 200), mostSteps);
      await child({ action: "steps", steps });
      // Two passes, and the steps that warm up.
      return { value: ((await bytes()) - before) / (2 * steps + 30) };
    },
  },
  {
    id: "G",
    title: "create 2,000 suspended runs",
    unit: "runs/s",
    better: "more",
    lasting: false,
    run: async ({ child, size }) => {
      const runs = size(2_000, 100);
      const result = await child({ action: "parked", steps: 1, runs, inFlight: 100 });
      const { heapPerRun = 0, rssPerRun = 0 } = result.figures;
      return { ...perSecond(runs, result), heapPerRun, rssPerRun };
    },
  },
  {
    id: "G100k",
    title: "create 100,000 suspended runs; heap from 2,000 on",
    unit: "runs/s",
    better: "more",
    lasting: false,
    run: async ({ child, size }) => {
      const runs = size(100_000, 4_000);
      const result = await child({ action: "grow", steps: 1, runs, inFlight: 100 });
      const { ms: _, ...heaps } = result.figures;
      return { ...perSecond(runs, result), ...heaps, heapSlope: slope(heaps) };
    },
  },
  {
    id: "H",
    title: "fresh process: import, open the storage, one run of one step",
    unit: "ms",
    better: "less",
    lasting: true,
    run: async ({ child, bareStart }) => {
      // The storage exists already: migrations of databases are not measured.
      await child({ action: "first", steps: 1 });
      const bareMs = await bareStart();
      const { figures, startedAt } = await child({ action: "first", steps: 1 });
      const { at = 0, opened = 0 } = figures;
      return { value: at - startedAt - bareMs, openMs: opened - startedAt - bareMs, bareMs };
    },
  },
  {
    id: "I",
    title: "fork a run of 1,000 steps at its last step, until that step runs again",
    unit: "ms",
    better: "less",
    lasting: true,
    run: async ({ child, size }) => msOf(await child({ action: "fork", steps: size(1_000, 100) })),
  },
];

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Bytes of heap per further run: the slope of a straight line through the points. */
export function slope(heaps: Readonly<Record<string, number>>): number {
  const points = Object.entries(heaps).map(([name, heap]) => [Number(name.split("@")[1]), heap] as const);
  const [x, y] = [mean(points.map(([runs]) => runs)), mean(points.map(([, heap]) => heap))];
  const along = points.reduce((sum, [runs, heap]) => sum + (runs - x) * (heap - y), 0);
  const across = points.reduce((sum, [runs]) => sum + (runs - x) ** 2, 0);
  return across === 0 ? 0 : along / across;
}
