/**
 * An app inside a Durable Object: its journals are in the object's SQLite, and the object's alarm wakes its runs, to the
 * second and without a queue or a cron trigger. One object has all runs of its name, so lists, schedules and pauses work as
 * everywhere. Proven in test/runs-object.test.ts, on workerd.
 *
 * runs-object.1. Before work begins, an alarm is set that comes when a lease of a dead driver has expired. So a run goes on
 *     when its object was killed, without any request.
 * runs-object.2. After work, the alarm is set to the earliest time at which a run or a schedule is due. A run that is still
 *     due after an alarm is tried again more and more slowly, and the others wake on time.
 */

import type { App, Duration, ListedRun, ListPage } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { assertOptions, toMs } from "@durable/core/storage";
import { objectBucket, type ObjectSql } from "./object-bucket.ts";

/** The part of the state of a Durable Object that is used. */
export interface ObjectState {
  readonly storage: ObjectSql & {
    getAlarm(): Promise<number | null>;
    setAlarm(time: number): Promise<void>;
    deleteAlarm(): Promise<void>;
  };
  waitUntil(work: Promise<unknown>): void;
}

/** Options for `createApp` in an object. */
export interface ObjectHost {
  /** Journals in the SQLite of the object. */
  readonly storage: RemoteStorage;
  /** A wait parks the run at once, because the alarm wakes it. */
  readonly patience: 0;
  readonly lease: Duration;
  /** Sets the alarm anew when work in the background has ended. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** Options of `runsObject`. */
export interface RunsObjectOptions<Env> {
  /** Makes the app, once for each life of an object: `(host, env) => createApp({ ...host, secret: env.SECRET, workflows })`. */
  readonly app: (host: ObjectHost, env: Env) => App | Promise<App>;
  /** Answers the requests to the object. */
  readonly fetch: (
    app: App,
    request: Request,
    given: { readonly env: Env; readonly host: ObjectHost },
  ) => Response | Promise<Response>;
  /** How long a run waits whose object was killed while it was driven. 30 s by default. */
  readonly lease?: Duration | undefined;
}

/** A class of Durable Objects, for `durable_objects` and `new_sqlite_classes` of wrangler's file. */
export type RunsObjectClass<Env> = new (
  state: ObjectState,
  env: Env,
) => {
  fetch(request: Request): Promise<Response>;
  alarm(): Promise<void>;
};

const usualLease = "30s";
/** How long after the lease of a dead driver the alarm comes. */
const afterLeaseMs = 500;
const blockedMs = 3_600_000;
/** Runs that are read at once to find the next wake. */
const wakesAtOnce = 6;
/** Later than any time. */
const never = 8_640_000_000_000_000;
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** Makes a class of Durable Objects that keep runs, drive them, and wake them. */
export function runsObject<Env>(options: RunsObjectOptions<Env>): RunsObjectClass<Env> {
  assertOptions(options, "app fetch lease", "runsObject");
  toMs(options.lease ?? usualLease, "The lease of runsObject");
  return class extends RunsOf<Env> {
    constructor(state: ObjectState, env: Env) {
      super(options, state, env);
    }
  };
}

class RunsOf<Env> {
  readonly #options: RunsObjectOptions<Env>;
  readonly #state: ObjectState;
  readonly #env: Env;
  readonly #host: ObjectHost;
  readonly #guardMs: number;
  readonly #app: Promise<App>;
  /** Changes of the alarm are made one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  /** Alarms in a row after which a run was still due. */
  #vain = 0;

  constructor(options: RunsObjectOptions<Env>, state: ObjectState, env: Env) {
    const { lease = usualLease } = options;
    const arm = (): Promise<void> => this.#arm();
    const waitUntil = (work: Promise<unknown>): void => {
      state.waitUntil(work);
      void work.then(arm, arm);
    };
    this.#options = options;
    this.#state = state;
    this.#env = env;
    this.#guardMs = toMs(lease, "The lease of runsObject") + afterLeaseMs;
    const storage = new RemoteStorage(objectBucket(state.storage));
    this.#host = { storage, patience: 0, lease, waitUntil };
    this.#app = Promise.resolve(options.app(this.#host, env));
  }

  async fetch(request: Request): Promise<Response> {
    const app = await this.#app;
    const answer = (): Response | Promise<Response> =>
      this.#options.fetch(app, request, { env: this.#env, host: this.#host });
    if (request.method === "GET" || request.method === "HEAD") return answer();
    await this.#guard();
    try {
      return await answer();
    } finally {
      await this.#arm();
    }
  }

  async alarm(): Promise<void> {
    const app = await this.#app;
    await this.#guard();
    const { failed } = await app.sweep();
    for (const { runId, error } of failed) app.world.warn(`run ${runId}: ${String(error)}`);
    await this.#arm(true);
  }

  /** Sets an alarm for the case that this life of the object ends now, unless one is set that comes earlier. */
  #guard(): Promise<void> {
    return this.#alone(async ({ world }) => {
      const latest = world.now() + this.#guardMs;
      const set = await this.#state.storage.getAlarm();
      if (set === null || set > latest) await this.#state.storage.setAlarm(latest);
    });
  }

  #arm(isAlarm = false): Promise<void> {
    return this.#alone(async (app) => {
      const now = app.world.now();
      const { isDue, later } = await nextDue(app, now, this.#guardMs);
      this.#vain = isDue ? this.#vain + (isAlarm ? 1 : 0) : 0;
      const pause = this.#vain === 0 ? 0 : Math.min(longestRetryMs, firstRetryMs * 2 ** (this.#vain - 1));
      const next = isDue ? Math.min(later, now + pause) : later;
      if (next === never) await this.#state.storage.deleteAlarm();
      else await this.#state.storage.setAlarm(next);
    });
  }

  async #alone(work: (app: App) => Promise<void>): Promise<void> {
    const app = await this.#app;
    this.#last = this.#last
      .then(() => work(app))
      // The alarm that is set stays, and its handler tries again.
      .catch((error: unknown) => app.world.warn(`the alarm of an object: ${String(error)}`));
    await this.#last;
  }
}

interface Due {
  /** A run or a schedule is due now. */
  readonly isDue: boolean;
  /** When the next one is that is not due yet. */
  readonly later: number;
}

async function nextDue(app: App, now: number, guardMs: number): Promise<Due> {
  const paused = new Set((await app.paused()).map((one) => one.workflow));
  const workflow = app.workflows.filter((name) => !paused.has(name));
  const isAny = async (status: "running" | "blocked"): Promise<boolean> =>
    (await app.list({ workflow, status, limit: 1 })).runs.length > 0;
  const times: number[] = [];
  // Runs that are due longest come first.
  for (let cursor: string | null | undefined; cursor !== null && (times.at(-1) ?? 0) <= now;) {
    const page: ListPage<ListedRun> = await app.list({ workflow, dueAt: never, limit: wakesAtOnce, cursor });
    for (const { wakeAt } of page.runs) times.push(wakeAt ?? never);
    cursor = page.next;
  }
  times.push(...(await nextTicks(app.schedules)));
  // The driver of a run may be dead by then. A blocked run needs other code, and a deployment begins another life.
  if (await isAny("running")) times.push(now + guardMs);
  if (await isAny("blocked")) times.push(now + blockedMs);
  return {
    isDue: times.some((time) => time <= now),
    later: times.reduce((least, time) => (time > now ? Math.min(least, time) : least), never),
  };
}

async function nextTicks(schedules: App["schedules"]): Promise<number[]> {
  const ticks: number[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Awaited<ReturnType<typeof schedules.list>> = await schedules.list({ cursor });
    for (const { nextAt } of page.schedules) ticks.push(nextAt ?? never);
    cursor = page.next;
  }
  return ticks;
}
