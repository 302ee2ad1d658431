/** How many runs do what: `tally` of the port. Proven by the conformance suite. */

import { hasEnded, noted } from "../../ports/storage-kit.ts";
import type { RunTally } from "../../ports/storage.ts";
import { isDue, isHeld, type Kept } from "./kept.ts";

export function tallied(runs: Iterable<Kept>, dueAt: number, now: number): RunTally[] {
  const found = new Map<string, RunTally>();
  for (const run of runs) {
    if (run.deleted || hasEnded(run.head)) continue;
    const { workflow, status, mark, waits, wakeAt, dueSince } = noted(run.head, run.note);
    const due = isDue(run, dueAt, now);
    const same = {
      workflow,
      status,
      ...(mark !== undefined && { mark }),
      waits: waits !== undefined,
      driven: isHeld(run, now),
      due,
    };
    const key = JSON.stringify([same, wakeAt === null ? null : wakeAt <= dueAt]);
    const before = found.get(key);
    found.set(key, {
      ...same,
      runs: (before?.runs ?? 0) + 1,
      wakeAt: earlier(before?.wakeAt, wakeAt),
      dueSince: due ? earlier(before?.dueSince, dueSince) : null,
    });
  }
  return [...found.values()];
}

function earlier(a: number | null | undefined, b: number | null): number | null {
  return a === null || a === undefined || b === null ? (a ?? b) : Math.min(a, b);
}
