/**
 * Wall clocks of time zones, over `Intl`. A wall time is written as the UTC time with the same fields.
 * Proven in test/schedules/zone.test.ts and, against a walk through every minute, in test/schedules/ticks.test.ts.
 *
 * zone.1. A time that exists twice has two instants, in order. A time that the clock jumps over has none; `afterGap` is the
 *     instant at which the clock goes on.
 */

import { DurableError, show } from "../values/errors.ts";

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export class Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;

  constructor(name: string) {
    this.name = name;
    this.#format = formatOf(name);
  }

  /** What the clock on the wall shows at an instant. */
  wallAt(instant: number): number {
    const field: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(instant)) field[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = field;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (((instant % 1_000) + 1_000) % 1_000);
  }

  /** The instants at which the clock shows this: none, one or two. */
  instantsOf(wall: number): readonly number[] {
    const [before, after] = this.#offsetsAround(wall);
    const found = before === after ? [wall - before] : [wall - before, wall - after];
    return found.filter((instant) => this.wallAt(instant) === wall).toSorted((a, b) => a - b);
  }

  /** For a wall time that the clock jumps over: the first instant after the jump. */
  afterGap(wall: number): number {
    // The clock shows less than `wall` before the jump, and more after it.
    let [low, high] = [wall - 2 * dayMs, wall + 2 * dayMs];
    while (high - low > 1_000) {
      const middle = Math.floor((low + high) / 2_000) * 1_000;
      if (this.wallAt(middle) < wall) low = middle;
      else high = middle;
    }
    return high;
  }

  /** The one offset of a whole day of the wall; `null` when the clock is changed near it. */
  offsetOn(day: number): number | null {
    const [first, last] = [this.#offsetAt(day - dayMs), this.#offsetAt(day + 2 * dayMs)];
    return first === last ? first : null;
  }

  #offsetsAround(wall: number): readonly [number, number] {
    return [this.#offsetAt(wall - dayMs), this.#offsetAt(wall + dayMs)];
  }

  #offsetAt(instant: number): number {
    return this.wallAt(instant) - instant;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch (cause) {
    throw new DurableError(
      "invalid-options",
      `The timezone ${show(timeZone)} is unknown here. Use a name such as "Europe/Paris" or "UTC".`,
      { cause },
    );
  }
}
