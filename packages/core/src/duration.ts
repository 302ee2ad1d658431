/** Durations as people write them: "2s", "1.5h", "3 days", or milliseconds. */

import { DurableError, show } from "./errors.ts";

export type Duration = string | number;

const units: readonly (readonly [RegExp, number])[] = [
  [/^(ms|millis?|milliseconds?)$/, 1],
  [/^(s|secs?|seconds?)$/, 1_000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hrs?|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
  [/^(w|weeks?)$/, 604_800_000],
  [/^(y|yrs?|years?)$/, 31_557_600_000],
];

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
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(typeof text === "string" ? text.trim() : "");
  const unit = match && units.find(([names]) => names.test((match[2] as string).toLowerCase()));
  return match && unit ? Number(match[1]) * unit[1] : Number.NaN;
}
