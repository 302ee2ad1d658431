/** Labels of the axis in a terminal, and the part of two values that differs. */

import { expect, test } from "vitest";
import type { RowView } from "@durable/core/inspect";
import { apart } from "../src/commands/diff.ts";
import { axisLine, layAxis } from "../src/text/axis.ts";

const row = (startedAt: number, endedAt: number): RowView =>
  ({ kind: "step", startedAt, endedAt, attempts: [{ number: 1, startedAt, endedAt }] }) as unknown as RowView;

test("labels after a long gap differ from each other", () => {
  for (const late of [550_000, 79_680_000, 190_000_000])
    for (const length of [400, 3_000, 40_000, 200_000]) {
      const columns = layAxis([row(0, 50), row(late, late + length)], 90, { now: late + length, fold: true });
      const labels = axisLine(columns, true)
        .split(/\s+/)
        .filter((part) => part !== "" && !part.includes("~"));
      expect(new Set(labels).size, `${late} ${length}: ${labels.join(" ")}`).toBe(labels.length);
    }
});

test("two long values are shown from shortly before their difference", () => {
  const same = "word ".repeat(60);
  const [before, after] = apart(`${same}five days`, `${same}three days`, 70);
  expect(before).toMatch(/^….{16}five days$/);
  expect(after).toMatch(/^….{16}three days$/);
  expect(apart("a b c", "a b d", 70)).toEqual(["a b c", "a b d"]);
});
