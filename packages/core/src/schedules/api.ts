/** Schedules as an app offers them. What they do is loaded with the first one. */

import type { ScheduleStore, StoredSchedule } from "../ports/schedules.ts";
import type { Run } from "../run.ts";
import type { Host } from "../runs/host.ts";
import type { Duration } from "../values/duration.ts";
import { describeError } from "../values/errors.ts";
import { limits } from "../values/limits.ts";
import { lazy } from "../values/lazy.ts";
import type { Fired } from "./fire.ts";
import type { Missed, Overlap } from "./record.ts";

/** Options of `app.schedule`. It has either `cron` or `every`. */
export interface ScheduleOptions<Input = unknown> {
  /** Five fields, "minute hour day-of-month month day-of-week", or a short form such as "@daily". */
  readonly cron?: string | undefined;
  /** The time zone of `cron`, such as "Europe/Paris"; "UTC" by default. */
  readonly timezone?: string | undefined;
  /** Ticks in equal periods, counted from 1970-01-01T00:00Z: whole seconds, at least one. */
  readonly every?: Duration | undefined;
  /** The input of every run; at most 64 KiB. */
  readonly input?: Input | undefined;
  /**
   * While the run of the previous tick has not ended: `skip` the tick (the default), `allow` both runs, `queue`
   * the tick until the run has ended, or `cancel` the run.
   */
  readonly overlap?: Overlap | undefined;
  /**
   * Of ticks that passed while no worker was there, start the `latest` (the default), the latest unless it is
   * more than five minutes old (`skip`), or `all`, up to the latest 100.
   */
  readonly missed?: Missed | undefined;
}

/** The options of a schedule; the input may be left out where the workflow takes none. */
export type ScheduleArguments<Input> = unknown extends Input
  ? ScheduleOptions<Input>
  : undefined extends Input
    ? ScheduleOptions<Input>
    : ScheduleOptions<Input> & { readonly input: Input };

/** A schedule, and how far it has come. */
export interface ScheduleInfo {
  readonly name: string;
  readonly workflow: string;
  /** `null` for a schedule with `every`. */
  readonly cron: string | null;
  readonly timezone: string | null;
  /** The period in milliseconds; `null` for a schedule with `cron`. */
  readonly every: number | null;
  readonly overlap: Overlap;
  readonly missed: Missed;
  readonly paused: boolean;
  /** The next tick; `null` while it is paused. */
  readonly nextAt: number | null;
  /** A tick that waits until the run of the previous one has ended. */
  readonly queuedAt: number | null;
  /** The latest tick that has started a run, and its run. */
  readonly lastAt: number | null;
  readonly lastRunId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Which schedules to list. */
export interface ScheduleQuery {
  /** Only schedules of this workflow. */
  readonly workflow?: string | undefined;
  /** Schedules per page; 100 by default. */
  readonly limit?: number | undefined;
  /** `next` of the previous page; `null` begins at the first page. */
  readonly cursor?: string | null | undefined;
}

/** A page of schedules, sorted by name. */
export interface SchedulePage {
  readonly schedules: readonly ScheduleInfo[];
  /** The cursor of the next page; `null` on the last page. */
  readonly next: string | null;
}

/** Operations on the schedules of a storage. */
export interface Schedules {
  /** Schedules, sorted by name. */
  list(query?: ScheduleQuery): Promise<SchedulePage>;
  /** One schedule. Rejects with `not-found`. */
  get(name: string): Promise<ScheduleInfo>;
  /** No further tick starts a run. Survives deploys. */
  pause(name: string): Promise<ScheduleInfo>;
  /** Ends a pause. Ticks that passed during the pause do not start. */
  resume(name: string): Promise<ScheduleInfo>;
  /** Removes a schedule; its runs stay. A missing one is not an error. */
  delete(name: string): Promise<void>;
  /** The times of the next ticks, in milliseconds since the epoch; one by default. */
  next(name: string, count?: number): Promise<number[]>;
  /**
   * Records one more run now, for a worker or a sweep to drive. It changes no tick, and does not count as an
   * overlap.
   */
  trigger(name: string): Promise<Run>;
  /**
   * Starts the runs of ticks that are due, for workflows of this app, and drives none; returns their ids.
   * Workers and sweeps do it by themselves.
   */
  fire(): Promise<readonly string[]>;
}

/** What came of one look at the schedules. */
export interface Look extends Fired {
  readonly nextAt: number | null;
}

/** The schedules of an app, as workers and sweeps see them. */
export interface ScheduleSource {
  /**
   * Starts the runs of ticks that are due; `nextAt` is when to look again, if that is within `aheadMs`. `null` where the
   * storage keeps no schedules.
   */
  fire(workflow: readonly string[], aheadMs: number): Promise<Look | null>;
  /** Called when this process has changed a schedule. */
  readonly listeners: Set<() => void>;
}

const part = /* @__PURE__ */ lazy(() => import("./manage.ts"));

/** The schedules of a host: for its users, and for its workers. */
export function schedulesOf(
  host: Host,
  workflows: readonly string[],
): {
  readonly schedules: Schedules;
  readonly source: ScheduleSource;
  define(name: string, workflow: string, options: ScheduleOptions): Promise<ScheduleInfo>;
} {
  const listeners = new Set<() => void>();
  const noticed = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    for (const listener of listeners) listener();
    return result;
  };
  const source: ScheduleSource = {
    listeners,
    fire: async (workflow, aheadMs) => {
      const { schedules: store } = await host.storage();
      return store === undefined ? null : fireDue(host, store, workflow, aheadMs);
    },
  };
  return {
    source,
    define: async (...given) => noticed((await part()).define(host, ...given)),
    schedules: {
      list: async (query) => (await part()).list(host, query),
      get: async (name) => (await part()).get(host, name),
      pause: async (name) => (await part()).pause(host, name),
      resume: async (name) => noticed((await part()).resume(host, name)),
      delete: async (name) => (await part()).remove(host, name),
      next: async (name, count) => (await part()).next(host, name, count),
      trigger: async (name) => (await part()).trigger(host, name),
      fire: async () => {
        const { started = [], failed = [] } = (await source.fire(workflows, 0)) ?? {};
        for (const { schedule, error } of failed)
          host.world.warn(`schedule ${schedule} could not start its run: ${describeError(error)}`);
        return started;
      },
    },
  };
}

/** A schedule that is due and makes no progress is looked at again after this time. */
const retryMs = 5_000;

async function fireDue(
  host: Host,
  store: ScheduleStore,
  workflow: readonly string[],
  aheadMs: number,
): Promise<Look> {
  const now = host.world.now();
  const ask = (): ReturnType<ScheduleStore["list"]> =>
    store.list({ workflow, dueAt: now + aheadMs, limit: limits.listPage });
  const found = await ask();
  const isDue = ({ dueAt }: StoredSchedule): boolean => (dueAt ?? Infinity) <= now;
  const due = found.filter(isDue);
  if (due.length === 0) return { started: [], failed: [], nextAt: found[0]?.dueAt ?? null };
  const fired = await (await part()).fire(host, store, due);
  if (aheadMs === 0) return { ...fired, nextAt: null };
  const tried = new Set(due.map(({ name }) => name));
  // One that was due before and still is waits for a run to end, or cannot start its own.
  const times = (await ask()).map((row) =>
    isDue(row) && tried.has(row.name) ? now + retryMs : (row.dueAt ?? Infinity),
  );
  return { ...fired, nextAt: times.length === 0 ? null : Math.min(...times) };
}
