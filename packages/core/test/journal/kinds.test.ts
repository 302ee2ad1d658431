/** The table of entry kinds agrees with what is derived from it by hand. */

import { expect, test } from "vitest";
import type { FactKind } from "../../src/journal/entry.ts";
import { isKind, traitsOf, valueFields } from "../../src/journal/kinds.ts";

const kinds: readonly FactKind[] = [
  ...(["started", "forked", "suspended", "completed", "failed", "cancelled"] as const).map(
    (end) => `run.${end}` as const,
  ),
  ...(["started", "completed", "failed"] as const).map((end) => `step.${end}` as const),
  "attempt.failed",
  ...(["chunks", "completed", "failed"] as const).map((end) => `stream.${end}` as const),
  ...(["opened", "completed", "failed", "closed"] as const).map((end) => `child.${end}` as const),
  "sleep.opened",
  "sleep.fired",
  ...(["opened", "answered", "resolved", "rejected", "expired", "closed"] as const).map(
    (end) => `suspend.${end}` as const,
  ),
  "parallel.opened",
  "race.opened",
];

test("every value field of a kind is among those that are checked in its entries", () => {
  const unchecked = kinds.filter((kind) => {
    const { value } = traitsOf({ kind });
    return value !== undefined && !valueFields({ kind } as never).includes(value);
  });
  expect(unchecked).toEqual([]);
});

test("every field that is checked belongs to some kind", () => {
  const used = new Set(kinds.map((kind) => traitsOf({ kind }).value));
  for (const kind of ["run.started", "step.completed"] as const)
    for (const field of valueFields({ kind } as never)) expect(used, field).toContain(field);
});

test("a kind is a string of the table, and nothing that turns into one", () => {
  for (const kind of kinds) expect(isKind(kind), kind).toBe(true);
  for (const other of ["run.dreamt", "toString", "", 1, null, ["run.started"], undefined])
    expect(isKind(other), String(other)).toBe(false);
});

test("what settles a call is never quiet, and only the run ends", () => {
  for (const kind of kinds) {
    const { settles, quiet, ends, call } = traitsOf({ kind });
    expect(settles === true && quiet === true, kind).toBe(false);
    expect(ends === true && call !== undefined, kind).toBe(false);
  }
});
