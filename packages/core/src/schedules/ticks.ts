/**
 * When a schedule ticks: by a cron expression on the clock of a time zone, or in equal periods.
 * Proven in test/schedules/ticks.test.ts, and against a walk through every minute of a year in every-minute.test.ts.
 *
 * ticks.1. A time of day that the expression names happens once a day: a time that exists twice counts the first time, and
 *     one that the clock jumps over counts when the clock goes on. Two times that come to the same instant are one tick.
 * ticks.2. With `*` as hour the ticks follow the time that passes: an hour that exists twice has its ticks twice, and one that
 *     the clock jumps over has none.
 * ticks.3. Periods are counted from 1970-01-01T00:00Z, so that every process and every deploy finds the same ticks.
 */

import { toMs, type Duration } from "../values/duration.ts";
import { DurableError, show } from "../values/errors.ts";
import { fitsDay, parseCron, type Cron } from "./cron.ts";
import { dayMs, Zone } from "./zone.ts";

/** When a schedule ticks, as it is stored. */
export type Timing =
  | { readonly cron: string; readonly timezone: string }
  /** In milliseconds. */
  | { readonly every: number };

/** The ticks of a schedule, as a line that can be walked in both directions. */
export interface Ticks {
  /** The first tick after a time; `null` when there is none in fifty years. */
  next(after: number): number | null;
  /** The latest ticks after `after` and up to `until`, in order: at most `most`. */
  last(after: number, until: number, most: number): readonly number[];
}

/** A day without a tick is followed by at most this many. The 29th of February may be a Monday only every 28 years. */
const farthestDays = 50 * 366;
const shortestMs = 1_000;

/** Checks the options that say when a schedule ticks. */
export function timingOf(given: {
  readonly cron?: string | undefined;
  readonly every?: Duration | undefined;
  readonly timezone?: string | undefined;
}): Timing {
  const { cron, every, timezone } = given;
  if ((cron === undefined) === (every === undefined))
    throw new DurableError("invalid-options", "A schedule has either `cron` or `every`. Pass one of them.");
  if (every === undefined) {
    parseCron(cron);
    return { cron: String(cron).trim(), timezone: new Zone(timezone ?? "UTC").name };
  }
  const ms = toMs(every, "every");
  if (ms < shortestMs || ms % shortestMs !== 0)
    throw new DurableError(
      "invalid-options",
      `\`every\` is ${show(every)}. Use whole seconds, and at least one.`,
    );
  if (timezone === undefined) return { every: ms };
  throw new DurableError(
    "invalid-options",
    "`timezone` belongs to `cron`. Periods of `every` are the same in all time zones.",
  );
}

export function ticksOf(timing: Timing): Ticks {
  return "every" in timing
    ? periods(timing.every)
    : new CronTicks(parseCron(timing.cron), new Zone(timing.timezone));
}

function periods(ms: number): Ticks {
  return {
    next: (after) => (Math.floor(after / ms) + 1) * ms,
    last: (after, until, most) => {
      const newest = Math.floor(until / ms);
      const count = Math.max(0, Math.min(most, newest - Math.floor(after / ms)));
      return Array.from({ length: count }, (_, n) => (newest - count + 1 + n) * ms);
    },
  };
}

class CronTicks implements Ticks {
  readonly #cron: Cron;
  readonly #zone: Zone;

  constructor(cron: Cron, zone: Zone) {
    this.#cron = cron;
    this.#zone = zone;
  }

  next(after: number): number | null {
    let found = Infinity;
    const first = this.#dayOf(after) - dayMs;
    for (let n = 0; n < farthestDays && found === Infinity; n++)
      found = this.#firstAfter(after, first + n * dayMs);
    if (found === Infinity) return null;
    // Where the clock is put back at midnight, a tick of the next day may come before one of this day.
    return Math.min(found, this.#firstAfter(after, this.#dayOf(found) + dayMs));
  }

  #firstAfter(after: number, day: number): number {
    return this.#onDay(day).find((tick) => tick > after) ?? Infinity;
  }

  last(after: number, until: number, most: number): readonly number[] {
    const found = new Set<number>();
    const begin = this.#dayOf(after) - dayMs;
    // One day more than is needed, for the same reason.
    for (let day = this.#dayOf(until) + dayMs, spare = 1; day >= begin && spare >= 0; day -= dayMs) {
      if (found.size >= most) spare -= 1;
      for (const tick of this.#onDay(day)) if (tick > after && tick <= until) found.add(tick);
    }
    const ticks = [...found].toSorted((a, b) => a - b);
    return ticks.slice(Math.max(0, ticks.length - most));
  }

  /** Midnight of the day on the wall. */
  #dayOf(instant: number): number {
    return Math.floor(this.#zone.wallAt(instant) / dayMs) * dayMs;
  }

  /** The ticks of a day of the wall, in order. */
  #onDay(day: number): readonly number[] {
    const date = new Date(day);
    const [month, ofMonth, weekday] = [date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCDay()];
    if (!fitsDay(this.#cron, { month, day: ofMonth, weekday })) return [];
    const { hours, minutes } = this.#cron;
    const walls = hours.flatMap((hour) => minutes.map((minute) => day + (hour * 60 + minute) * 60_000));
    const offset = this.#zone.offsetOn(day);
    if (offset !== null) return walls.map((wall) => wall - offset);
    return [...new Set(walls.flatMap((wall) => this.#instantsOf(wall)))].toSorted((a, b) => a - b);
  }

  #instantsOf(wall: number): readonly number[] {
    const instants = this.#zone.instantsOf(wall);
    if (this.#cron.everyHour) return instants;
    return [instants[0] ?? this.#zone.afterGap(wall)];
  }
}

/** The schedule and the time of the tick that started a run; `null` for any other run. */
export function tickOf(runId: string): { readonly schedule: string; readonly at: number } | null {
  const [, schedule, year, month, day, hour, minute, second] =
    /^(.+)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(runId) ?? [];
  if (schedule === undefined) return null;
  const at = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  return { schedule, at };
}
