/** Durations as people write them: "2s", "1.5h", "3 days", or milliseconds. */

import { DurableError, show } from "./errors.ts";

/** A length of time: milliseconds, or a text such as "500ms", "2s", "1.5h", "3 days", "1w". */
export type Duration = number | `${number}${Unit}` | `${number} ${Unit}`;

type Unit =
  | ("ms" | "milli" | "millis" | "millisecond" | "milliseconds")
  | ("s" | "sec" | "secs" | "second" | "seconds")
  | ("m" | "min" | "mins" | "minute" | "minutes")
  | ("h" | "hr" | "hrs" | "hour" | "hours")
  | ("d" | "day" | "days")
  | ("w" | "week" | "weeks")
  | ("y" | "yr" | "yrs" | "year" | "years");

const units: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5, y: 315576e5 };
const pattern =
  /^(\d+(?:\.\d+)?)\s*(ms|milli(?:second)?s?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?|w(?:eeks?)?|y(?:(?:ea)?rs?)?)$/;

/** The latest time that a Date can represent. A sleep beyond it is a mistake in the program. */
export const endOfTime = 8.64e15;

/** A duration in milliseconds. Throws `invalid-options` for one that is not valid, and `what` begins the message. */
export function toMs(duration: Duration, what = "duration"): number {
  const ms = typeof duration === "number" ? duration : parse(duration);
  if (!(ms >= 0) || ms > endOfTime) {
    throw new DurableError(
      "invalid-options",
      `${what} is ${show(duration)}, which is not a valid duration. Use milliseconds or a text such as "500ms", "2s", "15 minutes", "3 days", "1y".`,
    );
  }
  // Storages store times as integers. Adding 0 turns -0 into 0.
  return Math.round(ms) + 0;
}

function parse(text: unknown): number {
  const [, amount, unit = ""] = pattern.exec(typeof text === "string" ? text.trim().toLowerCase() : "") ?? [];
  return Number(amount) * (/^(ms|mil)/.test(unit) ? 1 : (units[unit.charAt(0)] ?? Number.NaN));
}
