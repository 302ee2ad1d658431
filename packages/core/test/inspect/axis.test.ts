import { busyMs, foldGaps, positionOn, type RowView } from "@durable/core/inspect";
import { describe, expect, test } from "vitest";

const row = (key: string, startedAt: number, endedAt: number | null, work = true): RowView => ({
  key,
  name: key,
  kind: work ? "step" : "sleep",
  status: endedAt === null ? "open" : "completed",
  depth: 0,
  parent: null,
  startedAt,
  endedAt,
  attempts: work ? [{ number: 1, startedAt, endedAt }] : [],
  fromJournal: false,
  edited: false,
  usage: [],
  seq: 1,
});

const day = 86_400_000;

describe("foldGaps", () => {
  test("folds a sleep of days between seconds of work", () => {
    const axis = foldGaps([
      row("a", 0, 4_000),
      row("nap", 4_000, 4_000 + 3 * day, false),
      row("b", 4_000 + 3 * day, 8_000 + 3 * day),
    ]);
    expect(axis.parts.map(({ folded }) => folded)).toEqual([false, true, false]);
    expect(positionOn(axis, 4_000)).toBeCloseTo(0.47);
    expect(positionOn(axis, 4_000 + 3 * day)).toBeCloseTo(0.53);
    expect(positionOn(axis, 8_000 + 3 * day)).toBeCloseTo(1);
    const flat = foldGaps([row("a", 0, 4_000), row("b", 4_000 + day, 8_000 + day)], { fold: false });
    expect(flat.parts).toHaveLength(1);
    expect(positionOn(flat, 4_000)).toBeLessThan(0.001);
  });

  test("keeps short idle times, and folds the wait at the end up to now", () => {
    const rows = [row("a", 0, 4_000), row("b", 4_300, 9_000), row("ask", 9_000, null, false)];
    expect(foldGaps(rows, { now: 9_400 }).parts.map(({ folded }) => folded)).toEqual([false]);
    const axis = foldGaps(rows, { now: 9_000 + day });
    expect(axis.parts.map(({ folded }) => folded)).toEqual([false, true]);
    expect(axis.endedAt).toBe(9_000 + day);
    expect(positionOn(axis, axis.endedAt)).toBe(1);
  });

  test("has a place for everything in an empty run, an instant and many gaps", () => {
    expect(foldGaps([]).parts).toHaveLength(1);
    const instant = foldGaps([row("a", 7, 7)]);
    expect(positionOn(instant, 7)).toBe(0);
    const many = foldGaps(Array.from({ length: 50 }, (_, i) => row(`s${i}`, i * day, i * day + 1_000)));
    expect(many.parts).toHaveLength(99);
    expect(many.parts.at(-1)?.to).toBeCloseTo(1);
    for (const { from, to } of many.parts) expect(to).toBeGreaterThan(from);
    const asleep = foldGaps([row("nap", 0, day, false)]);
    expect(asleep.parts).toMatchObject([{ folded: true, from: 0, to: 1 }]);
  });
});

test("busyMs counts work at the same time once", () => {
  expect(busyMs([row("a", 0, 10), row("b", 5, 20), row("nap", 20, 90, false), row("c", 90, null)], 100)).toBe(
    30,
  );
});
