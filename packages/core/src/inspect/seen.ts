/** What a replay against the present code has shown when it came to its end. */

import type { ReplayEnd } from "../engine/stop.ts";
import { goneAtPark, unreachedWaits, vanishedWait } from "../engine/vanished.ts";
import type { DurableError } from "../values/errors.ts";

/** What the code asked of the journal, and what it would do next; the fields of `Replayed`. */
export interface Seen {
  readonly delivered: number;
  readonly unused: readonly string[];
  readonly next: readonly { readonly key: string; readonly kind: string }[];
  readonly unreached: readonly string[];
  readonly unsure: readonly { readonly key: string; readonly kind: string; readonly old: string }[];
}

export interface Waits {
  readonly error: DurableError | null;
  readonly isUnsure: boolean;
}

/** What the engine will say about open waits: now, or once what is new is over. */
export function waitsAt(run: ReplayEnd): Waits {
  const fresh = [...run.calls.all()].filter(
    ({ kind, key, scope }) => !isGroup(kind) && !scope.closed && run.replay.record(key) === undefined,
  );
  const [first] = unreachedWaits(run).filter(({ opened }) => opened.foreign !== true);
  if (first === undefined) return { error: null, isUnsure: false };
  const { runId } = run.journal;
  const { key } = first.opened;
  const { finished, thrown } = run;
  if (finished && fresh.length === 0)
    return { error: vanishedWait(runId, key, { finished, thrown }), isUnsure: false };
  const gone = finished || fresh.some(({ kind }) => kind !== "suspend") ? null : goneAtPark(run);
  const waits = run.calls.unfinished("suspend");
  if (gone !== null) return { error: vanishedWait(runId, gone.key, { waits }), isUnsure: false };
  return { error: null, isUnsure: fresh.some(({ entered }) => entered.asked?.was !== null) };
}

export function seenAt({ journal, calls, replay: records, unsure }: ReplayEnd): Seen {
  const all = [...calls.all()];
  const unsettled = all.filter(
    ({ key, kind, scope }) => !scope.closed && !isGroup(kind) && records.record(key)?.settled !== true,
  );
  const open = new Set(journal.state.openWaits({ answered: true }).map(({ opened }) => opened.key));
  const unknown = unsettled.filter(({ key }) => records.record(key) === undefined);
  const missed = (key: string): boolean => !records.isCalled(key) && !calls.isClosed(key);
  return {
    delivered: all.filter(({ key }) => records.record(key)?.settled === true).length,
    unused: records.orphans().filter(missed),
    next: unknown.filter(({ key }) => !open.has(key)).map(({ key, kind }) => ({ key, kind })),
    unreached: [...open].filter(missed),
    unsure: [...unsure].map(({ call: { key, kind }, old }) => ({ key, kind, old })),
  };
}

function isGroup(kind: string): boolean {
  return kind === "parallel" || kind === "race";
}
