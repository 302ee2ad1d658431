/**
 * Many runs wait, a worker process is restarted, and some of the runs are woken: one by one, then all in a burst. Measures
 * the heap of the worker and how long a wake-up takes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "@durable/core";
import { FleetWorker, inLanes, pause, quantile } from "./children.ts";
import { bodiesIn, fleetApp, fleetFlows } from "./flows.ts";
import { openStorage, sizesOf, type Place } from "./storage.ts";

export interface WaitingOptions {
  readonly runs: number;
  /** Runs that are woken in a burst. */
  readonly burst: number;
  /** Runs that are woken one after the other. */
  readonly single: number;
  readonly progress?: (line: string) => void;
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

export interface WaitingReport {
  readonly created: number;
  readonly perSecond: number;
  /** Kilobytes of the worker's heap: fresh with all runs waiting, and after all wake-ups. */
  readonly heap: { readonly before: number; readonly after: number };
  /** From the acknowledged answer to the body of the next step, in milliseconds. */
  readonly single: Latency;
  readonly burst: Latency;
  /** From the first answer of the burst to the last body. */
  readonly burstMs: number;
  readonly woken: number;
  readonly stillWaiting: number;
  /** Kilobytes of each table and index when all runs waited. */
  readonly kilobytes: Readonly<Record<string, number>>;
  readonly exitCodes: readonly (number | null)[];
}

export async function wakeSome(place: Place, options: WaitingOptions): Promise<WaitingReport> {
  const { runs, burst, single, progress = () => {} } = options;
  const folder = mkdtempSync(join(tmpdir(), "durable-waiting-"));
  const log = join(folder, "bodies");
  const storage = await openStorage(place.url);
  const app = fleetApp(storage, fleetFlows(log));
  const start = (): FleetWorker => new FleetWorker(place.url, log, { concurrency: 50 });
  let worker: FleetWorker | null = null;
  try {
    const { tokens, perSecond } = await create(app, options);
    progress(`${runs} runs wait: ${perSecond} created in a second`);
    const kilobytes = await sizesOf(place.url);
    worker = start();
    await worker.up();
    const exitCodes = [await worker.stop()];
    worker = start();
    await worker.up();
    const before = await worker.heap();
    const ids = [...tokens.keys()];
    const answered = new Map<string, number>();
    const answer = async (id: string): Promise<void> => {
      await app.resume(tokens.get(id) ?? "", "yes", { drive: false });
      answered.set(id, Date.now());
    };
    for (const [n, id] of ids.slice(0, single).entries()) {
      await answer(id);
      await until(() => bodiesIn(log).length > n);
    }
    progress(`${single} runs were woken one by one`);
    const from = Date.now();
    const crowd = ids.slice(single, single + burst);
    await inLanes(crowd, 200, answer);
    await until(() => bodiesIn(log).length >= single + burst, 100);
    const burstMs = Date.now() - from;
    const after = await worker.heap();
    exitCodes.push(await worker.stop());
    const bodies = bodiesIn(log);
    const latency = (of: readonly string[]): Latency => {
      const wanted = new Set(of);
      const took = bodies.flatMap(({ run, at }) => (wanted.has(run) ? [at - (answered.get(run) ?? at)] : []));
      return { p50: quantile(took, 0.5), p99: quantile(took, 0.99) };
    };
    return {
      created: runs,
      perSecond,
      heap: { before, after },
      single: latency(ids.slice(0, single)),
      burst: latency(crowd),
      burstMs,
      woken: new Set(bodies.map(({ run }) => run)).size,
      stillWaiting: await count(app),
      kilobytes,
      exitCodes,
    };
  } finally {
    await worker?.kill();
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs that wait: those that will be answered, spread over all; the others sleep. Returns the tokens of the former. */
async function create(
  app: App,
  { runs, burst, single, progress = () => {} }: WaitingOptions,
): Promise<{ tokens: Map<string, string>; perSecond: number }> {
  const tokens = new Map<string, string>();
  const every = Math.max(1, Math.floor(runs / (burst + single)));
  const from = Date.now();
  let made = 0;
  await inLanes(
    Array.from({ length: runs }, (_, n) => n),
    500,
    async (n) => {
      const id = `wait-${n}`;
      const isAnswered = n % every === 0 && n < every * (burst + single);
      await app.start("wait", isAnswered ? "answer" : "sleep", { id, drive: false });
      const outcome = await app.advance(id);
      if (outcome.status !== "suspended") throw new Error(`Run ${id} is ${outcome.status}`);
      if (isAnswered) tokens.set(id, outcome.waiting[0]?.token ?? "");
      if (++made % 10_000 === 0) progress(`${made} of ${runs} runs wait`);
    },
  );
  return { tokens, perSecond: Math.round((runs * 1_000) / Math.max(1, Date.now() - from)) };
}

async function count(app: App): Promise<number> {
  let found = 0;
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await app.list({ status: "suspended", limit: 1_000, cursor });
    found += page.runs.length;
    cursor = page.next;
  }
  return found;
}

async function until(enough: () => boolean, ms = 1): Promise<void> {
  while (!enough()) await pause(ms);
}
