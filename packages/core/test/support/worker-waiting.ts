/**
 * H69: many runs wait; a worker that opens their storage holds none of them in memory, and when some are answered
 * it finishes exactly those.
 */

import { join } from "node:path";
import { systemWorld } from "../../src/storage.ts";
import type { App } from "../../src/index.ts";
import { SqliteStorage } from "../../src/adapters/sqlite/index.ts";
import { tempFolder } from "./sqlite-temp.ts";
import { workerApp } from "./worker-flows.ts";
import { WorkerProcess } from "./worker-process.ts";
import { numbered, record, statuses } from "./worker-runs.ts";

export interface WaitingReport {
  /** Runs by status when all was done. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Ids of the runs the worker finished, in the order of their names. */
  readonly finished: readonly string[];
  readonly answered: readonly string[];
  /** Drives of the worker that stopped. */
  readonly drives: number;
  /** Megabytes resident in the worker: before it opened the file, while all waited, and at the end. */
  readonly megabytes: { readonly before: number; readonly waiting: number; readonly after: number };
  readonly complaints: readonly string[];
}

export interface WaitingOptions {
  readonly runs: number;
  readonly answers: number;
  readonly progress?: (line: string) => void;
}

const atOnce = 1_000;

export async function answerSome({ runs, answers, progress }: WaitingOptions): Promise<WaitingReport> {
  const temp = tempFolder();
  const doing = { worker: "worker", effects: join(temp.folder, "effects") };
  const storage = new SqliteStorage(temp.path);
  const app = workerApp(storage, { ...doing, worker: "test" });
  let worker: WorkerProcess | null = null;
  try {
    const ids = numbered("w", runs);
    const tokens = new Map<string, string>();
    await inLanes(ids, async (id) => void tokens.set(id, await suspended(app, storage, id)));
    progress?.(`${runs} runs wait`);

    worker = new WorkerProcess(temp.path, doing, { concurrency: 50 });
    await worker.until(() => worker?.lines.includes("up") === true);
    // Several looks at a file in which nothing is due.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const { before, now: waiting } = await worker.memory();
    progress?.(`a worker looked at them: ${waiting - before} MB`);

    // Spread over all of them.
    const answered = ids.filter((_, n) => n % Math.floor(runs / answers) === 0).slice(0, answers);
    await inLanes(
      answered,
      async (id) => void (await app.resume(tokens.get(id) ?? "", id, { drive: false })),
    );
    await worker.until(() => (worker?.stops("completed") ?? 0) >= answers);
    const { now: after } = await worker.memory();
    worker.signal("SIGTERM");
    await worker.exit;
    const stops = worker.lines.filter((line) => line.startsWith("stop"));
    const finished = stops.flatMap((line) => /^stop completed (.*)$/.exec(line)?.[1] ?? []);
    return {
      statuses: await statuses(storage),
      finished: finished.toSorted(),
      answered: answered.toSorted(),
      drives: stops.length,
      megabytes: { before, waiting, after },
      complaints: worker.complaints,
    };
  } finally {
    await worker?.kill();
    await storage.close();
    temp.remove();
  }
}

/** The token of a run that has just parked. */
async function suspended(app: App, storage: SqliteStorage, id: string): Promise<string> {
  await record({ storage, world: systemWorld }, id, { workflow: "ask" });
  const outcome = await app.advance(id);
  const [point] = outcome.status === "suspended" ? outcome.waiting : [];
  if (point === undefined) throw new Error(`Run ${id} is ${outcome.status}`);
  return point.token;
}

/** Many at a time: they share their commits. */
async function inLanes(ids: readonly string[], work: (id: string) => Promise<void>): Promise<void> {
  const queue = ids.values();
  const lane = async (): Promise<void> => {
    for (const id of queue) await work(id);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
