/**
 * An app inside a Durable Object: its journals are in the object's SQLite, and the object's alarm wakes its runs, to the
 * second and without a queue or a cron trigger. One object has all runs of its name, so lists, schedules and pauses work as
 * everywhere. Proven in test/runs-object.test.ts, on workerd.
 *
 * runs-object.1. Before work begins, an alarm is set that comes when a lease of a dead driver has expired. So a run goes on
 *     when its object was killed, without any request.
 * runs-object.2. After work, the alarm is set to the earliest time at which a run or a schedule is due. A run that is still
 *     due after an alarm is tried again more and more slowly.
 */

import type { App } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { assertOptions } from "@durable/core/storage";
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
  /** Sets the alarm anew when work in the background has ended. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** Options of `runsObject`. */
export interface RunsObjectOptions<Env> {
  /** Makes the app, once for each life of an object: `(host, env) => createApp({ ...host, secret: env.SECRET, workflows })`. */
  readonly app: (host: ObjectHost, env: Env) => App;
  /** Answers the requests to the object. */
  readonly fetch: (app: App, request: Request, host: ObjectHost) => Response | Promise<Response>;
}

/** A class of Durable Objects, for `durable_objects` and `new_sqlite_classes` of wrangler's file. */
export type RunsObjectClass<Env> = new (
  state: ObjectState,
  env: Env,
) => {
  fetch(request: Request): Promise<Response>;
  alarm(): Promise<void>;
};

/** Longer than a lease, so that an alarm finds the runs of a dead driver due. */
const guardMs = 31_000;
const blockedMs = 3_600_000;
/** Later than any time. */
const never = 8_640_000_000_000_000;
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** Makes a class of Durable Objects that keep runs, drive them, and wake them. */
export function runsObject<Env>(options: RunsObjectOptions<Env>): RunsObjectClass<Env> {
  assertOptions(options, "app fetch", "runsObject");
  return class {
    readonly #state: ObjectState;
    readonly #app: App;
    readonly #host: ObjectHost;
    /** Changes of the alarm are made one after the other. */
    #last: Promise<unknown> = Promise.resolve();
    /** Alarms in a row after which a run was still due. */
    #vain = 0;

    constructor(state: ObjectState, env: Env) {
      this.#state = state;
      const waitUntil = (work: Promise<unknown>): void => {
        state.waitUntil(work);
        void work.then(
          () => this.#arm(),
          () => this.#arm(),
        );
      };
      this.#host = { storage: new RemoteStorage(objectBucket(state.storage)), patience: 0, waitUntil };
      this.#app = options.app(this.#host, env);
    }

    async fetch(request: Request): Promise<Response> {
      if (request.method === "GET" || request.method === "HEAD")
        return options.fetch(this.#app, request, this.#host);
      await this.#guard();
      try {
        return await options.fetch(this.#app, request, this.#host);
      } finally {
        await this.#arm();
      }
    }

    async alarm(): Promise<void> {
      await this.#guard();
      const { failed } = await this.#app.sweep();
      for (const { runId, error } of failed) this.#app.world.warn(`run ${runId}: ${String(error)}`);
      await this.#arm(true);
    }

    /** Sets an alarm for the case that this life of the object ends now, unless one is set that comes earlier. */
    #guard(): Promise<void> {
      return this.#alone(async () => {
        const [now, set] = [this.#app.world.now(), await this.#state.storage.getAlarm()];
        if (set === null || set > now + guardMs) await this.#state.storage.setAlarm(now + guardMs);
      });
    }

    #arm(isAlarm = false): Promise<void> {
      return this.#alone(async () => {
        const [now, due] = [this.#app.world.now(), await this.#nextDue()];
        this.#vain = due > now ? 0 : this.#vain + (isAlarm ? 1 : 0);
        const pause = this.#vain === 0 ? 0 : Math.min(longestRetryMs, firstRetryMs * 2 ** (this.#vain - 1));
        if (due === never) await this.#state.storage.deleteAlarm();
        else await this.#state.storage.setAlarm(Math.max(due, now + pause));
      });
    }

    /** When a run or a schedule is due next. */
    async #nextDue(): Promise<number> {
      const app = this.#app;
      const paused = new Set((await app.paused()).map((one) => one.workflow));
      const workflow = app.workflows.filter((name) => !paused.has(name));
      const [next] = (await app.list({ workflow, dueAt: never, limit: 1 })).runs;
      const due = next === undefined ? never : (next.wakeAt ?? never);
      // The driver of a run may be dead by then. A blocked run needs other code, and a deployment begins another life.
      const open = await this.#isAny("running", workflow);
      const blocked = await this.#isAny("blocked", workflow);
      const now = app.world.now();
      return Math.min(
        due,
        open ? now + guardMs : never,
        blocked ? now + blockedMs : never,
        await this.#nextTick(),
      );
    }

    async #isAny(status: "running" | "blocked", workflow: readonly string[]): Promise<boolean> {
      return (await this.#app.list({ status, workflow, limit: 1 })).runs.length > 0;
    }

    async #nextTick(): Promise<number> {
      const { schedules } = this.#app;
      let next = never;
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page: Awaited<ReturnType<typeof schedules.list>> = await schedules.list({ cursor });
        for (const { nextAt } of page.schedules) next = Math.min(next, nextAt ?? never);
        cursor = page.next;
      }
      return next;
    }

    #alone(work: () => Promise<void>): Promise<void> {
      const done = this.#last.then(work);
      this.#last = done.catch((error: unknown) => {
        // The alarm that is set stays, and its handler tries again.
        this.#app.world.warn(`the alarm of an object: ${String(error)}`);
      });
      return this.#last as Promise<void>;
    }
  };
}
