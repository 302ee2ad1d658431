/**
 * A fleet under attack: workers are killed, the database is restarted, and runs keep coming. Then the attacks end, all
 * runs must end, and journals are compared with the log of the bodies that ran.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App, Storage } from "@durable/core";
import { FleetWorker, inLanes, pause, persist } from "./children.ts";
import { bodiesIn, fleetApp, fleetFlows, steps, type Body } from "./flows.ts";
import { openStorage, type Place } from "./storage.ts";

export interface ChaosOptions {
  readonly workers: number;
  readonly runs: number;
  /** How long the attacks last, in milliseconds; runs are started during this time. */
  readonly attackMs: number;
  readonly killEveryMs: number;
  readonly restartEveryMs: number;
  readonly healMs: number;
  readonly stepMs: number;
  readonly progress?: (line: string) => void;
}

export interface ChaosReport {
  readonly runs: number;
  readonly completed: number;
  readonly kills: number;
  readonly restarts: number;
  /** Runs that were acknowledged and do not exist, or did not end well. */
  readonly lost: readonly string[];
  /** Keys that were settled twice. */
  readonly doubled: readonly string[];
  /** Values that a body saw and the journal does not have. */
  readonly changed: readonly string[];
  readonly bodies: number;
  /** Bodies that ran again, because a process died before its record. */
  readonly again: number;
  /** The longest time in which no body ran while runs were open, in milliseconds. */
  readonly longestStallMs: number;
  /** When it began, from the start of the attacks. */
  readonly stallAtMs: number;
  /** How long it took to end all runs after the attacks. */
  readonly healedMs: number;
}

const openStatuses = ["running", "suspended", "blocked"] as const;

export async function attackFleet(place: Place, options: ChaosOptions): Promise<ChaosReport> {
  const folder = mkdtempSync(join(tmpdir(), "durable-chaos-"));
  const log = join(folder, "bodies");
  const storage = await openStorage(place.url);
  const app = fleetApp(storage, fleetFlows(log));
  const fleet = new Fleet(place, log, options);
  try {
    await fleet.up();
    const ids = Array.from({ length: options.runs }, (_, n) => `run-${n}`);
    const [began, over] = [Date.now(), Date.now() + options.attackMs];
    const attack = fleet.attack(over);
    await inLanes(ids, 50, async (id) => {
      const at = began + (options.attackMs * 0.9 * Number(id.slice(4))) / ids.length;
      await pause(Math.max(0, at - Date.now()));
      await persist(() => app.start("ten", null, { id, drive: false }), options.healMs);
    });
    await attack;
    options.progress?.(`attacks are over: ${fleet.kills} kills, ${fleet.restarts} restarts`);
    const from = Date.now();
    while (Date.now() - from < options.healMs && (await hasOpen(storage))) await pause(200);
    const healedMs = Date.now() - from;
    const bodies = bodiesIn(log);
    const found = await judge(app, ids, bodies);
    return {
      ...found,
      runs: ids.length,
      kills: fleet.kills,
      restarts: fleet.restarts,
      bodies: bodies.length,
      ...longestStall([began, ...bodies.map(({ at }) => at)]),
      healedMs,
    };
  } finally {
    await fleet.end();
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The workers, and what happens to them. */
class Fleet {
  readonly #place: Place;
  readonly #options: ChaosOptions;
  readonly #workers: FleetWorker[];
  readonly #log: string;
  kills = 0;
  restarts = 0;

  constructor(place: Place, log: string, options: ChaosOptions) {
    this.#place = place;
    this.#log = log;
    this.#options = options;
    this.#workers = Array.from({ length: options.workers }, () => this.#start());
  }

  #start(): FleetWorker {
    return new FleetWorker(this.#place.url, this.#log, { concurrency: 25, stepMs: this.#options.stepMs });
  }

  async up(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.up()));
  }

  /** Kills and restarts until a time. */
  async attack(until: number): Promise<void> {
    const every = async (ms: number, work: () => Promise<void>): Promise<void> => {
      for (let next = Date.now() + ms; next < until; next = Math.max(next + ms, Date.now())) {
        await pause(next - Date.now());
        await work();
      }
    };
    const { killEveryMs, restartEveryMs } = this.#options;
    const { restart } = this.#place;
    await Promise.all([
      every(killEveryMs, async () => {
        // In turn, and only those that had time to start: on a slow machine none would ever work.
        const from = this.kills % this.#workers.length;
        const turns = this.#workers.map((_, n) => (from + n) % this.#workers.length);
        const victim = turns.find((n) => this.#workers[n]?.isUp === true);
        if (victim === undefined) return;
        this.kills += 1;
        await this.#workers[victim]?.kill();
        this.#workers[victim] = this.#start();
      }),
      every(restart === undefined ? Infinity : restartEveryMs, async () => {
        await restart?.(this.restarts++ % 2 === 0 ? "fast" : "crash");
      }),
    ]);
  }

  async end(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
  }
}

export async function hasOpen(storage: Storage): Promise<boolean> {
  const pages = await Promise.all(openStatuses.map((status) => storage.list({ status, limit: 1 })));
  return pages.some(({ runs }) => runs.length > 0);
}

export type Judged = Pick<ChaosReport, "completed" | "lost" | "doubled" | "changed" | "again">;

/** Compares the journals of runs with the log of the bodies that ran. */
export async function judge(app: App, ids: readonly string[], bodies: readonly Body[]): Promise<Judged> {
  const [lost, doubled, changed]: [string[], string[], string[]] = [[], [], []];
  const byRun = Map.groupBy(bodies, ({ run }) => run);
  let completed = 0;
  let records = 0;
  await inLanes(ids, 20, async (id) => {
    const entries = await app.get(id).entries();
    const settled = entries.flatMap((entry) => (entry.kind === "step.completed" ? [entry] : []));
    const values = new Map(settled.map(({ key, value }) => [key, value]));
    records += settled.length;
    if (values.size !== settled.length) doubled.push(id);
    const ends = entries.filter(({ kind }) => kind === "run.completed").length;
    if (ends > 1) doubled.push(`${id} ended ${ends} times`);
    if (ends === 1) completed += 1;
    if (ends !== 1 || values.size !== steps) lost.push(`${id}: ${values.size} steps, ${ends} ends`);
    for (const { step, before, value } of byRun.get(id) ?? []) {
      // What a body saw of the step before was acknowledged then, so it is what the journal has now.
      if (before !== null && values.get(`step ${step - 1}`) !== before)
        changed.push(`${id} step ${step - 1}`);
      if (!value.startsWith(`${id} ${step} `)) changed.push(`${id} step ${step}`);
    }
  });
  return { completed, lost, doubled, changed, again: bodies.length - records };
}

export function longestStall(times: readonly number[]): Pick<ChaosReport, "longestStallMs" | "stallAtMs"> {
  const sorted = times.toSorted((a, b) => a - b);
  const [began = 0] = sorted;
  let stall = { longestStallMs: 0, stallAtMs: 0 };
  for (const [n, at] of sorted.entries()) {
    const longestStallMs = (sorted[n + 1] ?? at) - at;
    if (longestStallMs > stall.longestStallMs) stall = { longestStallMs, stallAtMs: at - began };
  }
  return stall;
}
