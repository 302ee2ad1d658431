/** Durations as people write them: "2s", "1.5h", "3 days", or milliseconds. */

import { DurableError, show } from "./errors.ts";

export type Duration = string | number;

/** By their singular; an "s" at the end of a longer name is left off. */
const units: Readonly<Record<string, number>> = {
  ms: 1,
  milli: 1,
  millisecond: 1,
  s: 1e3,
  sec: 1e3,
  second: 1e3,
  m: 6e4,
  min: 6e4,
  minute: 6e4,
  h: 36e5,
  hr: 36e5,
  hour: 36e5,
  d: 864e5,
  day: 864e5,
  w: 6048e5,
  week: 6048e5,
  y: 315576e5,
  yr: 315576e5,
  year: 315576e5,
};

/** The latest time a Date can hold; a sleep beyond it is a mistake, not a wish. */
export const endOfTime = 8.64e15;

export function toMs(duration: Duration, what = "duration"): number {
  const ms = typeof duration === "number" ? duration : parse(duration);
  if (!(ms >= 0) || ms > endOfTime) {
    throw new DurableError(
      "invalid-options",
      `${what} is ${show(duration)}. Write milliseconds or a text such as "500ms", "2s", "15 minutes", "3 days", "1y".`,
    );
  }
  // A storage keeps times as integers. Adding 0 turns -0 into 0.
  return Math.round(ms) + 0;
}

function parse(text: unknown): number {
  const [, amount, name = ""] =
    /^(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(typeof text === "string" ? text.trim().toLowerCase() : "") ?? [];
  const unit = name.length > 2 ? name.replace(/s$/, "") : name;
  return Object.hasOwn(units, unit) ? Number(amount) * (units[unit] as number) : Number.NaN;
}
