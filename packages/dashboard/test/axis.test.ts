/** The axis of a timeline: where times are, and what its labels say. */

import { expect, test } from "vitest";
import { gapsOf, scaleOf, span, ticksOf, tickText } from "../page/lib/axis.ts";

type Rows = Parameters<typeof scaleOf>[0];

const row = (startedAt: number, endedAt: number | null, more: Partial<Rows[number]> = {}): Rows[number] => ({
  kind: "step",
  startedAt,
  endedAt,
  attempts: [{ number: 1, startedAt, endedAt }],
  ...more,
});
const [second, minute, hour] = [1_000, 60_000, 3_600_000];

test("a fork begins at its own time, and what it took from the journal stands left of that", () => {
  const origin = 22 * hour;
  const rows = [
    row(0, second, { fromJournal: true }),
    row(origin, origin + 3 * second),
    row(origin + 3 * second, origin + 4 * second),
  ];
  const scale = scaleOf(rows, { now: origin + 4 * second, fold: true, origin });
  expect(ticksOf(scale).map(({ text }) => text)).toEqual(["0 s", "1 s", "2 s", "3 s", "4 s"]);
  expect(scale.strip).toBeGreaterThan(0);
  expect(scale.at(second)).toBeLessThan(scale.strip);
  expect(scale.at(origin)).toBeCloseTo(scale.strip, 9);
  expect(scale.at(origin + 4 * second)).toBeCloseTo(1, 9);
  const own = span(scale, origin, origin + second);
  expect(Number.parseFloat(own?.left ?? "")).toBeCloseTo(scale.strip * 100, 2);
});

test("labels after a long gap have as many digits as tell them apart", () => {
  const late = 9 * minute + 9 * second;
  const rows = [row(0, 400), row(late, late + 900)];
  const texts = ticksOf(scaleOf(rows, { now: late + 900, fold: true, origin: 0 })).map(({ text }) => text);
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts).toContain("9:09.5");
  for (let n = 0; n < 200; n++) {
    const from = (n * 7_919 * second) % (40 * hour);
    const length = 3 ** (n % 14);
    const all = [row(0, 50), row(from, from + length)];
    for (const fold of [true, false]) {
      const scale = scaleOf(all, { now: from + length, fold, origin: 0 });
      const ticks = ticksOf(scale);
      expect(new Set(ticks.map(({ text }) => text)).size, `${n} ${fold}`).toBe(ticks.length);
      for (const [i, { at }] of ticks.entries())
        if (i > 0) expect(at - (ticks[i - 1]?.at ?? 0)).toBeGreaterThan(0.09);
    }
  }
});

test("times are written by the distance of their labels", () => {
  expect([0, 20, 500].map((ms) => tickText(ms, 20))).toEqual(["0 s", "20 ms", "500 ms"]);
  expect([500, 5_000].map((ms) => tickText(ms, 500))).toEqual(["500 ms", "5.0 s"]);
  expect(tickText(125 * second, 5 * second)).toBe("2:05");
  expect(tickText(hour + 2 * minute + 5 * second, 5 * second)).toBe("1:02:05");
  expect(tickText(52 * hour, hour)).toBe("2 d 4 h");
});

test("a gap says both of its units, and names do not overlap", () => {
  const rows = [row(0, second), row(second + 105_000, 107_000)];
  const scale = scaleOf(rows, { now: 107_000, fold: true, origin: 0 });
  expect(gapsOf(scale)).toMatchObject([{ text: "1 min 45 s", named: true }]);
  const many = Array.from({ length: 12 }, (_, i) => row(i * hour, i * hour + 100));
  const gaps = gapsOf(scaleOf(many, { now: 12 * hour, fold: true, origin: 0 }));
  const named = gaps.filter((gap) => gap.named);
  expect(gaps.length).toBeGreaterThan(named.length);
  for (const [i, { from, to }] of named.entries()) {
    const before = named[i - 1];
    if (before !== undefined) expect((from + to) / 2 - (before.from + before.to) / 2).toBeGreaterThan(0.06);
  }
});

test("a run of children has an axis with ticks", () => {
  const child = (startedAt: number, endedAt: number): Rows[number] => ({
    ...row(startedAt, endedAt),
    kind: "child",
    attempts: [],
  });
  const scale = scaleOf([child(0, 4 * second), child(4 * second, 9 * second)], {
    now: 9 * second,
    fold: true,
    origin: 0,
  });
  expect(gapsOf(scale)).toEqual([]);
  expect(ticksOf(scale).length).toBeGreaterThan(3);
});

test("what is zoomed into has finer labels, and the time at a place is the place of that time", () => {
  const rows = [row(0, 100 * second)];
  const options = { now: 100 * second, fold: true, origin: 0 };
  const scale = scaleOf(rows, { ...options, zoom: { from: 50 * second, to: 52 * second } });
  expect(ticksOf(scale).map(({ text }) => text)).toEqual(["50.0 s", "50.5 s", "51.0 s", "51.5 s", "52.0 s"]);
  expect(span(scale, 0, 10 * second)).toBeNull();
  expect(span(scale, 0, 51 * second)).toEqual({ left: "0.000%", width: "50.000%" });
  for (const place of [0, 0.25, 0.5, 1]) expect(scale.at(scale.timeAt(place))).toBeCloseTo(place, 9);
});
