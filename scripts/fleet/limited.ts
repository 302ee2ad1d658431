/**
 * A fleet under a limit: workers that are killed drive runs of some keys, and the bodies themselves note when they begin
 * and end. What they noted says how many of a key ran at the same time, and for how long there were too few.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, durable, type AnyWorkflow, type App, type Storage } from "@durable/core";
import { FleetWorker, inLanes, pause } from "./children.ts";
import { openStorage, type Place } from "./storage.ts";

/** The clock of all processes of this machine, in milliseconds. */
const clock = (): number => Number(process.hrtime.bigint()) / 1e6;

export function limitedFlow(log: string, limit: number, stepMs: number): AnyWorkflow {
  const say = (what: string, run: string, key: string): void =>
    appendFileSync(log, `${clock()} ${what} ${process.pid} ${run} ${key}\n`);
  return durable(
    "limited",
    async (ctx, key: string) => {
      await ctx.step("body", async () => {
        say("begin", ctx.runId, key);
        await pause(stepMs * (0.5 + Math.random()));
        say("end", ctx.runId, key);
      });
      return key;
    },
    { concurrency: { max: limit, key: (input) => input } },
  );
}

export function limitedApp(storage: Storage, flow: AnyWorkflow, leaseMs: number): App {
  return createApp({
    storage,
    secret: "a secret for the fleet of a long test",
    workflows: [flow],
    lease: leaseMs,
  });
}

export interface LimitedOptions {
  readonly runs: number;
  readonly workers: number;
  readonly limit: number;
  readonly keys: number;
  readonly leaseMs: number;
  readonly stepMs: number;
  readonly killEveryMs: number;
  /** At most so many kills. */
  readonly kills: number;
  readonly progress?: (line: string) => void;
}

export interface LimitedReport {
  readonly runs: number;
  readonly completed: number;
  readonly kills: number;
  /** The most bodies of one key at the same time. */
  readonly most: number;
  /** The longest time, in milliseconds, for which fewer bodies of a key ran than might, while runs of it waited. */
  readonly longestShortMs: number;
  readonly bodies: number;
}

export async function limitFleet(place: Place, options: LimitedOptions): Promise<LimitedReport> {
  const { runs, workers, limit, keys, leaseMs, stepMs, killEveryMs } = options;
  const folder = mkdtempSync(join(tmpdir(), "durable-limits-"));
  const log = join(folder, "bodies");
  appendFileSync(log, "");
  const storage = await openStorage(place.url);
  const app = limitedApp(storage, limitedFlow(log, limit, stepMs), leaseMs);
  const ids = Array.from({ length: runs }, (_, n) => `r-${n}`);
  const keyOf = (n: number): string => `key-${n % keys}`;
  await inLanes([...ids.keys()], 50, async (n) => {
    await app.start("limited", keyOf(n), { id: ids[n], drive: false });
  });
  const start = async (): Promise<FleetWorker> => {
    const worker = new FleetWorker(place.url, log, { concurrency: limit * keys, limit, stepMs, leaseMs });
    await worker.up();
    return worker;
  };
  const fleet = await Promise.all(Array.from({ length: workers }, start));
  const from = clock();
  const dead: { readonly pid: number; readonly at: number }[] = [];
  try {
    for (let turn = 0; ; turn++) {
      await pause(killEveryMs);
      const ended = Number(eventsIn(log).filter(({ what }) => what === "end").length);
      options.progress?.(`${ended} bodies ended, ${dead.length} kills`);
      if (ended >= runs && (await endedRuns(storage)) >= runs) break;
      if (dead.length >= options.kills) continue;
      const victim = fleet[turn % workers] as FleetWorker;
      dead.push({ pid: victim.pid, at: clock() });
      await victim.kill();
      fleet[turn % workers] = await start();
    }
  } finally {
    await Promise.all(fleet.map((worker) => worker.kill()));
  }
  const completed = await endedRuns(storage);
  const events = eventsIn(log);
  await storage.close();
  rmSync(folder, { recursive: true, force: true });
  const perKey = Array.from({ length: keys }, (_, n) => {
    const waiting = ids.filter((_id, at) => keyOf(at) === keyOf(n)).length;
    return judge(
      events.filter(({ key }) => key === keyOf(n)),
      { dead, from, limit, waiting },
    );
  });
  return {
    runs,
    completed,
    kills: dead.length,
    most: Math.max(...perKey.map(({ most }) => most)),
    longestShortMs: Math.round(Math.max(...perKey.map(({ short }) => short))),
    bodies: events.filter(({ what }) => what === "begin").length,
  };
}

async function endedRuns(storage: Storage): Promise<number> {
  let count = 0;
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await storage.list({ status: "completed", limit: 1_000, cursor });
    count += page.runs.length;
    cursor = page.next;
  }
  return count;
}

interface Noted {
  readonly at: number;
  readonly what: string;
  readonly pid: number;
  readonly run: string;
  readonly key: string;
}

function eventsIn(log: string): Noted[] {
  return readFileSync(log, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [at, what = "", pid, run = "", key = ""] = line.split(" ");
      return { at: Number(at), what, pid: Number(pid), run, key };
    });
}

/** Walks through what the bodies of one key noted. A process that was killed has no bodies from then on. */
function judge(
  events: readonly Noted[],
  given: {
    readonly dead: readonly { readonly pid: number; readonly at: number }[];
    readonly from: number;
    readonly limit: number;
    readonly waiting: number;
  },
): { readonly most: number; readonly short: number } {
  const { dead, from, limit } = given;
  const deaths = dead.map(({ pid, at }): Noted => ({ at, what: "dead", pid, run: "", key: "" }));
  const alive = new Map<string, number>();
  const over = new Set<string>();
  const killed = new Set<number>();
  let [most, short, since] = [0, 0, from];
  for (const { at, what, pid, run } of [...events, ...deaths].toSorted((a, b) => a.at - b.at)) {
    const wasShort = alive.size < limit && given.waiting - over.size - alive.size > 0;
    if (wasShort) short = Math.max(short, at - since);
    if (what === "dead") {
      killed.add(pid);
      for (const [one, of] of alive) if (of === pid) alive.delete(one);
    } else if (killed.has(pid)) continue;
    else if (what === "begin") alive.set(run, pid);
    else {
      alive.delete(run);
      over.add(run);
    }
    most = Math.max(most, alive.size);
    const isShort = alive.size < limit && given.waiting - over.size - alive.size > 0;
    if (!(wasShort && isShort)) since = at;
  }
  return { most, short };
}
