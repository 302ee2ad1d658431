/** Schedules as their users see them. */

import type { Run } from "../run.ts";
import type { Duration } from "../values/duration.ts";
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
  unpause(name: string): Promise<ScheduleInfo>;
  /** Removes a schedule; its runs stay. */
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
   * Workers and sweeps do it by themselves. When the signal aborts, no further start begins, except for a first one; on a
   * bucket, only a part of the schedules is read then, and each time another one.
   */
  fire(options?: { readonly signal?: AbortSignal | undefined }): Promise<readonly string[]>;
}
