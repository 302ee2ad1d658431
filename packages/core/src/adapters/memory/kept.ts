/** A run in memory: what is kept of it, when it is due, and its place in a list. Proven in test/adapters/memory.test.ts. */

import {
  dueOrder,
  duringOf,
  endedBefore,
  isFound,
  noted,
  pageSize,
  parentsOf,
  readCursor,
  timeDuring,
  waitsUntil,
  workflowsOf,
} from "../../ports/storage-kit.ts";
import type {
  BlockedNote,
  DuringQuery,
  Lease,
  ListPage,
  ListQuery,
  RunDuring,
  RunHead,
} from "../../ports/storage.ts";

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
  /** The place in the order of creation (`placeFor`): lists are sorted by it. */
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

/** A run that has no batch yet. */
export function newlyKept(head: RunHead, order: number): Kept {
  const none = { first: 0, lease: null, starts: 0, startsAt: 0, quietUntil: 0, claimedUntil: 0, note: null };
  return { ...none, head, batches: [], chapters: [], named: new Map(), order, deleted: false };
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

/** Whether a run wants a driver at `dueAt` and has none now. */
export function isDue(run: Kept, dueAt: number, now: number): boolean {
  const { head, quietUntil } = run;
  if (head.wakeAt === null || head.wakeAt > dueAt || quietUntil > now) return false;
  return !isHeld(run, now);
}

/** Whether a live driver has the run. */
export function isHeld({ lease }: Kept, now: number): boolean {
  return lease !== null && lease.until > now;
}

/** The place of a run in the order of due runs. */
export function placeOf({ head }: Kept): number {
  return dueOrder(head) ?? 0;
}

/** The right to do some work of the whole storage, for a time. */
export interface Turn {
  readonly name: string;
  readonly owner: string;
  readonly until: number;
}

/** False while another owner has it. */
export function takeTurn(turns: Map<string, Turn>, turn: Turn, now: number): boolean {
  const before = turns.get(turn.name);
  const isFree = before === undefined || before.owner === turn.owner || before.until <= now;
  if (isFree) turns.set(turn.name, turn);
  return isFree;
}

/** Whether a run matches a query. Whether it is due depends on the time. */
export function fits(query: ListQuery): (run: Kept) => boolean {
  const { status } = query;
  const workflows = workflowsOf(query);
  const parents = parentsOf(query);
  return ({ head, note, deleted }) => {
    const shown = noted(head, note);
    return (
      !deleted &&
      workflows?.includes(head.workflow) !== false &&
      (status === undefined || shown.status === status) &&
      (parents === null || (head.parent !== null && parents.includes(head.parent))) &&
      endedBefore(shown, query) &&
      (query.waiting === undefined || head.waits !== undefined) &&
      isFound(head, query)
    );
  };
}

/** The time by which a list is sorted; `null` for one that begins with the newest run. */
function timeOf({ dueAt, endedBefore, waiting }: ListQuery): ((run: Kept) => number) | null {
  if (dueAt !== undefined) return placeOf;
  if (endedBefore !== undefined) return ({ head }) => head.updatedAt;
  return waiting === undefined ? null : ({ head }) => waitsUntil(head) ?? 0;
}

export function orderOf(query: ListQuery): (a: Kept, b: Kept) => number {
  const time = timeOf(query);
  return (a, b) => (time === null ? b.order - a.order : time(a) - time(b) || a.order - b.order);
}

/** The runs after the cursor. A cursor is a position in the order, so it stays valid when the run it names is deleted. */
export function page(found: readonly Kept[], query: ListQuery, now: number): ListPage {
  const { cursor, limit } = query;
  const [at, id] = readCursor(cursor) ?? [];
  const time = timeOf(query);
  const rest = found.filter((run) => {
    if (at === undefined || id === undefined) return true;
    if (time === null) return run.order < id;
    return time(run) > at || (time(run) === at && run.order > id);
  });
  const runs = rest.slice(0, pageSize(limit));
  const last = runs.length < rest.length ? runs.at(-1) : undefined;
  return {
    runs: runs.map((run) => ({ ...noted(run.head, run.note), driven: isHeld(run, now) })),
    next: last === undefined ? null : `${(time ?? placeOf)(last)}:${last.order}`,
  };
}

/** The runs of a time, the newest first. */
export function keptDuring(all: Iterable<Kept>, query: DuringQuery): RunDuring[] {
  const found = [...all].flatMap(({ head, deleted }) => {
    const at = deleted ? null : timeDuring(head, query);
    const isAsked = query.by === "created" || query.status === undefined || head.status === query.status;
    return at !== null && isAsked && at >= query.after && at < query.before ? [{ at, head }] : [];
  });
  return found
    .toSorted((a, b) => b.at - a.at)
    .slice(0, query.limit)
    .map(({ head }) => duringOf(head));
}
