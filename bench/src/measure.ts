/** The workloads, from inside the process that is measured. */

import type { Engine, Marks, Place, SubjectModule } from "./engine.ts";

/** What one process does. */
export interface Task {
  readonly module: string;
  readonly action: "steps" | "runs" | "record" | "resume" | "delay" | "parked" | "first" | "fork" | "grow";
  readonly place: Place;
  readonly steps: number;
  readonly parallel?: boolean;
  readonly runs?: number;
  readonly inFlight?: number;
  /** Before the ids of runs, when another process has used the same data. */
  readonly prefix?: string;
  /** What the process that recorded the run returned. */
  readonly token?: string;
}

/** Figures by name. `at` is a time in milliseconds since the epoch, which the parent process compares with its own. */
export type Result = { readonly figures: Record<string, number>; readonly token?: string };

const now = (): number => performance.timeOrigin + performance.now();

/** Times of what the code of the workflow reported. */
class Stamps implements Marks {
  begun = 0;
  ended = 0;
  #onBody: (at: number) => void = () => {};

  begin(): void {
    if (this.begun === 0) this.begun = now();
  }

  end(): void {
    this.ended = now();
  }

  body(): void {
    this.#onBody(now());
  }

  reset(): void {
    this.begun = 0;
    this.ended = 0;
  }

  /** The time of the next body. */
  nextBody(): Promise<number> {
    return new Promise((resolve) => {
      this.#onBody = (at) => {
        this.#onBody = () => {};
        resolve(at);
      };
    });
  }
}

const warmUp = 30;

/** Opens the subject, does the task and closes it again. */
export async function measure(subject: SubjectModule, task: Task): Promise<Result> {
  const stamps = new Stamps();
  const engine = await subject.open(task.place, stamps);
  const opened = now();
  const result = await actions[task.action]({ subject, task, stamps, engine, opened });
  await engine.close();
  return result;
}

interface Scene {
  readonly subject: SubjectModule;
  readonly task: Task;
  readonly stamps: Stamps;
  readonly engine: Engine;
  readonly opened: number;
}

const actions: Record<Task["action"], (scene: Scene) => Promise<Result>> = {
  steps: async ({ engine, stamps, task: { steps, parallel = false } }) => {
    await engine.run({ id: "warm-up", steps: warmUp, parallel });
    const passes: number[] = [];
    for (const id of ["first", "second"]) {
      stamps.reset();
      await engine.run({ id, steps, parallel });
      passes.push(stamps.ended - stamps.begun);
    }
    return figuresOf(passes);
  },

  runs: async ({ engine, task: { steps, runs = 1, inFlight = 1 } }) => {
    await pool(warmUp, inFlight, (i) => engine.run({ id: `warm-up-${i}`, steps }));
    const passes: number[] = [];
    for (const pass of ["first", "second"]) {
      const from = now();
      await pool(runs, inFlight, (i) => engine.run({ id: `${pass}-${i}`, steps }));
      passes.push(now() - from);
    }
    return figuresOf(passes);
  },

  record: async ({ engine, stamps, task: { steps, parallel = false } }) => {
    const before = memory();
    const token = await waitOf(engine)({ id: "recorded", steps, parallel });
    return { figures: { ms: stamps.ended - stamps.begun, ...grown(before) }, token };
  },

  resume: async ({ engine, stamps, opened, task: { token = "" } }) => {
    const before = process.memoryUsage();
    const body = stamps.nextBody();
    const answered = answerOf(engine)(token);
    const at = await body;
    const { heapUsed } = process.memoryUsage();
    await answered;
    const figures = { at, replayMs: at - opened, heap: heapUsed - before.heapUsed };
    return { figures: { ...figures, peakRss: process.resourceUsage().maxRSS * 1_024 } };
  },

  delay: async ({ engine, stamps, task: { runs = 1, steps } }) => {
    const delays: number[] = [];
    for (let i = 0; i < runs + 2; i++) {
      const token = await waitOf(engine)({ id: `run-${i}`, steps });
      await new Promise((resolve) => setTimeout(resolve, 50));
      const body = stamps.nextBody();
      const from = now();
      const answered = answerOf(engine)(token);
      delays.push((await body) - from);
      await answered;
    }
    // The first two warm up.
    const sorted = delays.slice(2).toSorted((a, b) => a - b);
    return { figures: { ms: sorted[Math.floor(sorted.length / 2)] ?? 0 } };
  },

  parked: async ({ engine, task }) => {
    const { runs = 1, steps, parallel = false, inFlight = 1, prefix = "" } = task;
    const wait = waitOf(engine);
    if (prefix === "") await pool(warmUp, inFlight, (i) => wait({ id: `warm-up-${i}`, steps: 1 }));
    const before = memory();
    const from = now();
    await pool(runs, inFlight, (i) => wait({ id: `${prefix}run-${i}`, steps, parallel }));
    const ms = now() - from;
    const after = memory();
    return {
      figures: {
        ms,
        heapPerRun: (after.heap - before.heap) / runs,
        rssPerRun: (after.rss - before.rss) / runs,
      },
    };
  },

  grow: async ({ engine, task: { runs = 1, steps, inFlight = 1 } }) => {
    const wait = waitOf(engine);
    const figures: Record<string, number> = {};
    const from = now();
    for (let done = 0; done < runs;) {
      const part = Math.min(done === 0 ? 2_000 : 14_000, runs - done);
      const first = done;
      await pool(part, inFlight, (i) => wait({ id: `run-${first + i}`, steps }));
      done += part;
      figures[`heap@${done}`] = memory().heap;
    }
    return { figures: { ms: now() - from, ...figures } };
  },

  first: async ({ engine, opened }) => {
    await engine.run({ id: `first-${process.pid}-${Date.now()}`, steps: 1 });
    return { figures: { at: now(), opened } };
  },

  fork: async ({ engine, subject, stamps, task: { steps, place } }) => {
    if (engine.fork === undefined) throw new Error("It cannot fork a run.");
    await engine.run({ id: "parent", steps });
    const token = engine.wait === undefined ? "" : await engine.wait({ id: "waiting", steps });
    // A second handle on the same data has nothing of these runs in memory.
    const isSingle = engine.wait === undefined || !place.lasting || subject.single === true;
    const other = isSingle ? engine : await subject.open(place, stamps);
    let resumeMs = Number.NaN;
    if (other.answer !== undefined && other !== engine) {
      const body = stamps.nextBody();
      const from = now();
      const answered = other.answer(token);
      resumeMs = (await body) - from;
      await answered;
    }
    const body = stamps.nextBody();
    const from = now();
    const forked = (other.fork ?? engine.fork)("parent", steps);
    const ms = (await body) - from;
    await forked;
    if (other !== engine) await other.close();
    return { figures: Number.isNaN(resumeMs) ? { ms } : { ms, resumeMs } };
  },
};

/** The second pass counts, because programs live longer than a compiler needs to know them. The first is told beside it. */
function figuresOf([firstMs = 0, ms = 0]: readonly number[]): Result {
  return { figures: { ms, firstMs } };
}

function waitOf(engine: Engine): NonNullable<Engine["wait"]> {
  if (engine.wait === undefined) throw new Error("It cannot wait for an answer.");
  return engine.wait.bind(engine);
}

function answerOf(engine: Engine): NonNullable<Engine["answer"]> {
  if (engine.answer === undefined) throw new Error("It cannot take an answer.");
  return engine.answer.bind(engine);
}

/** Does `count` things, at most `inFlight` at a time. */
async function pool(count: number, inFlight: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, lane));
}

/** How much the heap has grown, and the most memory that the process has had. */
function grown(before: { readonly heap: number }): Record<string, number> {
  return { heap: memory().heap - before.heap, peakRss: process.resourceUsage().maxRSS * 1_024 };
}

function memory(): { heap: number; rss: number } {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, rss };
}
