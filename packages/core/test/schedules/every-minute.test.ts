/** Ticks against a walk through every minute of a year, in zones with all kinds of changes of their clocks. */

import { describe, expect, inject, test } from "vitest";
import { ticksOf, timingOf } from "../../src/schedules/ticks.ts";
import { dayMs } from "./lab.ts";
import { oracle, walls } from "./oracle.ts";

const at = (text: string): number => Date.parse(text);

const zones = [
  "Europe/Paris",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "America/St_Johns",
  "Africa/Casablanca",
];
const expressions = [
  "30 2 * * *",
  "0,30 1-3 * * *",
  "*/20 2 * * *",
  "15 * * * *",
  "*/45 */2 * * *",
  "7 0-23 * * *",
  "0 0 1,15 * mon",
  "5 3 29-31 * *",
  "59 1 */5 mar-nov *",
  "0 9 * * mon-fri",
  "30 23 * 1-6,12 sun",
  "10 2 * * 5-7",
];

// Two zones here, because each walk is long; all of them in `npm run test:full`. And of their year only the days around the
// changes of their clocks, and some in February.
const sample: Record<string, readonly (readonly [number, number])[]> = {
  "Europe/Paris": [
    [44, 46],
    [86, 89],
    [296, 299],
  ],
  "Australia/Lord_Howe": [
    [44, 46],
    [93, 96],
    [275, 278],
  ],
};
const walked = inject("full") ? zones : Object.keys(sample);

describe.each(walked)("every minute of a year in %s", (zone) => {
  const [from, until] = [at("2026-01-01T00:00Z"), at("2027-01-01T00:00Z")];
  const spans = inject("full")
    ? ([[from, until]] as const)
    : (sample[zone] ?? []).map(([first, last]) => [from + first * dayMs, from + last * dayMs] as const);
  const walks = spans.map(([begin, end]) => ({ begin, end, walk: walls(zone, begin - 2 * dayMs, end) }));

  test.each(expressions)("%s", (expression) => {
    const ticks = ticksOf(timingOf({ cron: expression, timezone: zone }));
    for (const { begin, end, walk } of walks) {
      const expected = oracle(expression, walk).filter((tick) => tick >= begin);
      const found: number[] = [];
      for (let next = ticks.next(begin - 1); next !== null && next < end; next = ticks.next(next))
        found.push(next);
      const text = (times: readonly number[]): string[] => times.map((time) => new Date(time).toISOString());
      expect(text(found)).toEqual(text(expected));
      expect(ticks.last(begin - 1, end - 1, Infinity)).toEqual(expected);
      expect(ticks.last(begin - 1, end - 1, 7)).toEqual(expected.slice(-7));
    }
  });
});
