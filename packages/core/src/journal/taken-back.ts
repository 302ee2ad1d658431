/**
 * What `run.retried` takes back: the end of the run, and the records of the calls whose failure caused it.
 *
 * taken-back.1. Only the failed calls begin anew. Chunks of a stream, the opening of a child and of a group stay, so that
 *     a new attempt has a new number, and a child and the branches keep their recorded work. A fork that inherited the
 *     failure of a child opens a child of its own.
 * taken-back.2. Nothing that was recorded disappears: what no longer counts is struck, and views and sums have it.
 */

import type { Entry } from "./entry.ts";
import { isRetriable, type RunState } from "./fold.ts";
import { traitsOf } from "./kinds.ts";

const kept: ReadonlySet<string> = new Set([
  "stream.chunks",
  "child.opened",
  "parallel.opened",
  "race.opened",
]);

interface Retried {
  readonly failed?: readonly string[];
}

/** Questions about one of these steps, or the deadline of one of these calls: `pay/uncertain`, `all[]/deadline`. */
function isOfOne(keys: ReadonlySet<string>, key: string): boolean {
  for (let end = key.length; (end = key.lastIndexOf("/", end - 1)) > 0;) {
    const above = key.slice(0, end);
    if (keys.has(above) || (above.endsWith("[]") && keys.has(above.slice(0, -2)))) return true;
  }
  return false;
}

/** The entries that count after a retry. */
export function withoutFailure(entries: readonly Entry[], { failed = [] }: Retried): Entry[] {
  const forked = entries.find(({ kind }) => kind === "run.forked")?.seq ?? 0;
  const isKept = ({ kind, seq }: Entry): boolean =>
    kept.has(kind) && !(kind === "child.opened" && seq < forked);
  const keys = new Set(failed);
  const isTaken = (entry: Entry): boolean =>
    "key" in entry && (keys.has(entry.key) ? !isKept(entry) : isOfOne(keys, entry.key));
  const waits = new Set(entries.flatMap((entry) => ("wait" in entry && isTaken(entry) ? [entry.wait] : [])));
  return entries.filter(
    (entry) =>
      traitsOf(entry).ends !== true && !isTaken(entry) && !("wait" in entry && waits.has(entry.wait)),
  );
}

interface Retakable {
  readonly entries: Entry[];
  /** What retries have struck so far. */
  readonly struck: readonly Entry[];
  readonly state: RunState;
}

/** What a journal knows after a retry at a position; nothing changes when there is no end to take back. */
export function retaken({ entries, struck, state }: Retakable, retried: Retried, seq: number): Retakable {
  if (!isRetriable(state.end)) return { entries, struck, state };
  const counted = withoutFailure(entries, retried);
  const counts = new Set(counted);
  const gone = entries.filter((entry) => !counts.has(entry)).map((entry) => ({ ...entry, struck: seq }));
  return { entries: counted, struck: [...struck, ...gone], state: state.retaken(counted) };
}

/** The entries of a run with those that were struck, each in its place. */
export function withStruck({ entries, struck }: Pick<Retakable, "entries" | "struck">): readonly Entry[] {
  if (struck.length === 0) return entries;
  const left = struck.toSorted((a, b) => b.seq - a.seq);
  const all: Entry[] = [];
  for (const entry of entries) {
    while ((left.at(-1)?.seq ?? Infinity) < entry.seq) all.push(left.pop() as Entry);
    all.push(entry);
  }
  return all;
}

/** The entries of a whole journal that count, after all its retries. */
export function afterRetries(entries: readonly Entry[]): readonly Entry[] {
  if (!entries.some(({ kind }) => kind === "run.retried")) return entries;
  let counted: Entry[] = [];
  for (const entry of entries) {
    if (entry.kind === "run.retried" && isRetriable(counted.find((one) => traitsOf(one).ends)))
      counted = withoutFailure(counted, entry);
    counted.push(entry);
  }
  return counted;
}
