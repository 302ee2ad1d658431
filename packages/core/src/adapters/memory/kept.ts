/** A run in memory: what is kept of it, when it is due, and its place in a list. Proven in test/adapters/memory.test.ts. */

import { noted, pageSize, readCursor } from "../../ports/storage-kit.ts";
import type { BlockedNote, Lease, ListPage, ListQuery, RunHead } from "../../ports/storage.ts";

export interface KeptBlob {
  readonly body: string;
  /** How many runs name this blob. */
  runs: number;
}

export interface Kept {
  head: RunHead;
  batches: string[];
  /** The position of the first batch that is kept. */
  first: number;
  /** Positions at which the chapters after the first begin. */
  chapters: number[];
  /** The blobs that this run names, each with the position of the first batch of each chapter that did. */
  readonly named: Map<string, { readonly blob: KeptBlob; positions: number[] }>;
  /** Order of creation: lists are sorted by it. */
  readonly order: number;
  lease: { owner: string; until: number } | null;
  /** Leases taken when the journal had `startsAt` batches. */
  starts: number;
  startsAt: number;
  quietUntil: number;
  /** Until when it counts as driven, because a worker claimed it. */
  claimedUntil: number;
  note: BlockedNote | null;
  deleted: boolean;
}

/** How many batches the journal has, with those that were dropped. */
export function lengthOf({ first, batches }: Kept): number {
  return first + batches.length;
}

/** Ends the lease as if it had not been taken. For an owner that does not have it, nothing happens. */
export function giveBack(run: Kept, owner: string): Lease | null {
  if (run.lease?.owner !== owner) return null;
  const starts = Math.max(run.starts, 1);
  run.lease = null;
  run.starts = starts - 1;
  return { starts, length: lengthOf(run) };
}

/** From when on due lists have the run; `null` after its end. */
export function dueFrom({ head, lease, quietUntil }: Kept): number | null {
  return head.wakeAt === null ? null : Math.max(head.wakeAt, quietUntil, lease?.until ?? 0);
}

/** Keeps the runs that are due longest: at most `most`, in their order. Cheaper than sorting all of them. */
export function keepFirst(found: Kept[], run: Kept, most: number): void {
  const isBefore = (a: Kept, b: Kept): boolean =>
    wakeAt(a) < wakeAt(b) || (wakeAt(a) === wakeAt(b) && a.order < b.order);
  const last = found.at(-1);
  if (found.length >= most && (last === undefined || isBefore(last, run))) return;
  let at = found.length;
  for (; at > 0 && isBefore(run, found[at - 1] as Kept); at--);
  found.splice(at, 0, run);
  if (found.length > most) found.pop();
}

export function wakeAt({ head }: Kept): number {
  return head.wakeAt ?? 0;
}

/** The runs after the cursor. A cursor is a position in the order, so it stays valid when the run it names is deleted. */
export function page(found: readonly Kept[], { dueAt, cursor, limit }: ListQuery): ListPage {
  const [at, id] = readCursor(cursor) ?? [];
  const rest = found.filter((run) => {
    if (at === undefined || id === undefined) return true;
    if (dueAt === undefined) return run.order < id;
    return wakeAt(run) > at || (wakeAt(run) === at && run.order > id);
  });
  const runs = rest.slice(0, pageSize(limit));
  const last = runs.length < rest.length ? runs.at(-1) : undefined;
  return {
    runs: runs.map(({ head, note }) => noted(head, note)),
    next: last === undefined ? null : `${wakeAt(last)}:${last.order}`,
  };
}
