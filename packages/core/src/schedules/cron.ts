/**
 * Cron expressions: five fields (minute, hour, day of month, month, day of week), with names, ranges, steps and lists,
 * and the usual short forms such as @daily. Proven in test/schedules/cron.test.ts.
 *
 * cron.1. A text is refused with its field and the reason, when it is parsed. Nothing that was accepted fails later.
 */

import { DurableError, show } from "../values/errors.ts";

export interface Cron {
  /** In ascending order. */
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** True when the hour field begins with `*` or has all hours: its ticks follow the time that passes, not the clock. */
  readonly everyHour: boolean;
  readonly months: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Both day fields are restricted, so that a day fits when one of them does. */
  readonly eitherDay: boolean;
}

interface Field {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  /** The highest value of `*`. A week has the days 0 to 6; 7 is another name for 0. */
  readonly top: number;
  /** The first name stands for `low`. */
  readonly names: readonly string[];
}

const fields = [
  { name: "minute", low: 0, high: 59, top: 59, names: [] },
  { name: "hour", low: 0, high: 23, top: 23, names: [] },
  { name: "day of month", low: 1, high: 31, top: 31, names: [] },
  {
    name: "month",
    low: 1,
    high: 12,
    top: 12,
    names: "jan feb mar apr may jun jul aug sep oct nov dec".split(" "),
  },
  { name: "day of week", low: 0, high: 7, top: 6, names: "sun mon tue wed thu fri sat".split(" ") },
] as const satisfies readonly Field[];

const shortForms: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** The days of each month in a leap year. */
const longest = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function parseCron(text: unknown): Cron {
  if (typeof text !== "string") throw refused(text, "is not a text");
  const trimmed = text.trim().toLowerCase();
  const parts = (shortForms[trimmed] ?? trimmed).split(/\s+/);
  if (trimmed.startsWith("@") && shortForms[trimmed] === undefined)
    throw refused(text, `is not one of ${Object.keys(shortForms).join(", ")}`);
  if (parts.length !== fields.length) {
    const more = parts.length === 6 ? ' There is no field for seconds; use { every: "10 seconds" }.' : "";
    throw refused(text, `has ${parts.length} fields, not 5.${more}`);
  }
  const sets = fields.map((field, n) => parseField(field, parts[n] as string, text));
  const [minutes, hours, days, months, weekdays] = sets as Sets;
  if (weekdays.delete(7)) weekdays.add(0);
  const isAny = (n: number): boolean => (parts[n] as string).startsWith("*");
  const eitherDay = !isAny(2) && !isAny(4);
  if (!eitherDay && ![...months].some((month) => Math.min(...days) <= (longest[month - 1] ?? 0)))
    throw refused(text, "never happens: none of its months has such a day");
  return {
    minutes: sorted(minutes),
    hours: sorted(hours),
    everyHour: isAny(1) || hours.size === 24,
    months,
    days,
    weekdays,
    eitherDay,
  };
}

type Sets = [Set<number>, Set<number>, Set<number>, Set<number>, Set<number>];

/** True for a day that the expression names. */
export function fitsDay(
  { months, days, weekdays, eitherDay }: Cron,
  { month, day, weekday }: { readonly month: number; readonly day: number; readonly weekday: number },
): boolean {
  if (!months.has(month)) return false;
  return eitherDay ? days.has(day) || weekdays.has(weekday) : days.has(day) && weekdays.has(weekday);
}

function parseField(field: Field, text: string, whole: string): Set<number> {
  const found = new Set<number>();
  for (const item of text.split(",")) {
    const fail = (why: string): DurableError =>
      refused(whole, `has ${show(item)} as ${field.name}: ${why}`, field.name);
    const [range = "", step, ...rest] = item.split("/");
    if (rest.length > 0) throw fail("a step is written once, as in */15");
    const [from, to] = rangeOf(field, range, step !== undefined, fail);
    const by = step === undefined ? 1 : numberOf(step);
    // A step beyond the field would only name its first value, which is never what "every 90 minutes" means.
    if (!(by >= 1) || by > field.high - field.low + 1)
      throw fail(`a step is a number from 1 to ${field.high - field.low + 1}`);
    for (let value = from; value <= to; value += by) found.add(value);
  }
  return found;
}

function rangeOf(
  field: Field,
  text: string,
  hasStep: boolean,
  fail: (why: string) => DurableError,
): readonly [from: number, to: number] {
  const { low, high, top } = field;
  if (text === "*") return [low, top];
  const [first = "", last, ...rest] = text.split("-");
  const from = valueOf(field, first);
  let to = last === undefined ? (hasStep ? Math.max(top, from) : from) : valueOf(field, last);
  // A range may end with Sunday, as in "sat-sun".
  if (top < high && to === 0 && from > 0) to = high;
  const known = field.names.length === 0 ? "" : ` or a name (${field.names.join(", ")})`;
  if (rest.length > 0 || !(from >= low && from <= high) || !(to >= low && to <= high))
    throw fail(`use *, or numbers from ${low} to ${high}${known}, with "-" for ranges and "," for lists`);
  if (from > to) throw fail("the range ends before it begins; write two ranges with a comma");
  return [from, to];
}

function valueOf({ low, names }: Field, text: string): number {
  const at = names.indexOf(text);
  return at === -1 ? numberOf(text) : low + at;
}

function numberOf(text: string): number {
  return /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
}

function sorted(values: ReadonlySet<number>): number[] {
  return [...values].toSorted((a, b) => a - b);
}

function refused(text: unknown, why: string, field?: string): DurableError {
  return new DurableError(
    "invalid-options",
    `The cron expression ${show(text)} ${why}${/[.]$/.test(why) ? "" : "."} An expression is "minute hour day-of-month month day-of-week", such as "0 9 * * mon-fri".`,
    field === undefined ? {} : { details: { field } },
  );
}
