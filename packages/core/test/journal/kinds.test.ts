/** The table of entry kinds agrees with what is derived from it by hand. */

import { expect, test } from "vitest";
import type { FactKind } from "../../src/journal/entry.ts";
import { isKind, traitsOf, valueFields } from "../../src/journal/kinds.ts";

/** Every kind, in any order: the type says if one is missing. */
const all: Readonly<Record<FactKind, true>> = {
  "run.started": true,
  "run.forked": true,
  "run.continued": true,
  "run.queued": true,
  "run.suspended": true,
  "run.completed": true,
  "run.failed": true,
  "run.cancelled": true,
  "run.failing": true,
  "run.cancelling": true,
  "cleanup.opened": true,
  "cleanup.started": true,
  "cleanup.completed": true,
  "cleanup.failed": true,
  "run.paused": true,
  "run.unpaused": true,
  "run.retried": true,
  "run.regressed": true,
  "run.scored": true,
  "step.started": true,
  "step.progress": true,
  "step.completed": true,
  "step.failed": true,
  "attempt.failed": true,
  "stream.chunks": true,
  "stream.completed": true,
  "stream.failed": true,
  "child.opened": true,
  "child.completed": true,
  "child.failed": true,
  "child.closed": true,
  "spawn.opened": true,
  "spawn.started": true,
  "spawn.failed": true,
  "tag.set": true,
  "sleep.opened": true,
  "sleep.fired": true,
  "suspend.opened": true,
  "suspend.answered": true,
  "suspend.resolved": true,
  "suspend.rejected": true,
  "suspend.expired": true,
  "suspend.closed": true,
  "message.sent": true,
  "report.set": true,
  "parallel.opened": true,
  "race.opened": true,
};
const kinds = Object.keys(all) as FactKind[];
/** What the first entry of a chapter or a fork carries, and what stands beside an outcome. */
const carried = ["prompt", "prompts", "messages", "report"];

test("every value field of a kind is among those that are checked in its entries", () => {
  const unchecked = kinds.filter((kind) => {
    const { value } = traitsOf({ kind });
    return value !== undefined && !valueFields({ kind } as never).includes(value);
  });
  expect(unchecked).toEqual([]);
});

test("every field that is checked belongs to some kind", () => {
  const used = new Set([...kinds.map((kind) => traitsOf({ kind }).value), ...carried]);
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
