/**
 * The records of a log. A record may have a batch. Every record has the state that results from it and all records
 * before it, so the last record alone has everything except the batches.
 */

import { DurableError, otherFormat } from "../../values/errors.ts";
import { keepReport } from "../../ports/storage-kit.ts";
import type { AppendRequest, BlockedNote, RunHead } from "../../ports/storage.ts";

export interface State {
  /** When the log last grew, by the clock of the writer. The record that closes the log does not change this time. */
  readonly at: number;
  /** Number of batches; not every record has one. */
  readonly length: number;
  readonly head: RunHead;
  readonly lease: { readonly owner: string; readonly until: number } | null;
  /** Leases taken when the journal had `startsAt` batches. */
  readonly starts: number;
  readonly startsAt: number;
  readonly quietUntil: number;
  /** The slot that set the present status, wake time and `held`. It is part of the keys of the index objects. */
  readonly since: number;
  /** Until when the index object of a running run says that it is not due. The lease may last longer, and never less. */
  readonly held?: number;
  /** Names of the forks that read this run, and the name under which this run is a reader of its ancestors. */
  readonly readers: readonly string[];
  readonly reader: string;
  /** From which position each of the forks reads, if not from the first. */
  readonly readsFrom?: Readonly<Record<string, number>>;
  /** The slot that began the current chapter; missing in the first chapter. */
  readonly chapterSlot?: number;
  readonly dropped?: Dropped;
  readonly blocked?: Blocked;
  /** Deleted: hidden, and kept only for its readers. */
  readonly deleted: boolean;
  /** Deleted, and without readers. No record follows. */
  readonly closed: boolean;
  /** Index objects that the run had when it was deleted. */
  readonly markers?: readonly string[];
}

/** A slot at which a chapter begins, and when it was written. */
export interface ChapterSlot {
  readonly slot: number;
  readonly at: number;
}

/** What was dropped: the batches before `position`, which is in `slot`. */
export interface Dropped extends ChapterSlot {
  readonly position: number;
  /** The slots at which the log began before, the latest first: at most two. */
  readonly previous: readonly ChapterSlot[];
}

/** A note, the slot that wrote it, and the owner of the lease at that time. */
export interface Blocked {
  readonly note: BlockedNote;
  readonly slot: number;
  readonly owner: string | null;
  /** The slot of the record that has it. Builds without notes copy it as it is. */
  readonly last: number;
}

/** The content of a blob, or the locator of the ancestor that stores it, with the slot in its log. */
export type BlobText = string | { readonly in: string; readonly at?: number };
export type KeptBlob = readonly [name: string, text: BlobText];

export interface LogRecord {
  /** Unique, so that a writer recognizes its own record. */
  readonly id: string;
  readonly slot: number;
  readonly state: State;
  readonly batch?: string;
  /** Blobs that this batch is the first of its chapter to name. */
  readonly blobs?: readonly KeptBlob[];
}

/** The content of the first slot of a generation that is over. */
export const gone = { id: "", gone: true } as const;

/** The content of a slot at which a log began, before the batches from there to `next` were dropped. */
export interface Forward {
  readonly id: "";
  readonly next: number;
}

/** The layout that this build writes and reads. Those before it were never released. */
const version = 3;

export function writeObject(object: object): string {
  return JSON.stringify({ v: version, ...object });
}

export function writeForward(next: number): string {
  return writeObject({ id: "", next });
}

/** Reads what `writeObject` wrote; a missing object counts as damaged. */
export function readObject(text: string | null, key: string): Readonly<Record<string, unknown>> {
  const raw = parsed(text);
  const found = raw?.["v"];
  if (
    typeof found === "number" &&
    (found > version || (Number.isInteger(found) && found > 0 && found < version))
  )
    throw otherFormat(`Object ${key} was written in layout`, found, {
      reads: version,
      instead: "Finish its runs with that version, or use another prefix.",
    });
  if (raw === null || found !== version) throw damaged(key);
  return raw;
}

export function damaged(key: string): DurableError {
  return new DurableError(
    "corrupt",
    `Object ${key} was not written by this library, or is damaged. Restore the bucket from a backup.`,
  );
}

function parsed(text: string | null): Record<string, unknown> | null {
  try {
    const raw: unknown = JSON.parse(text ?? "");
    return typeof raw === "object" && raw !== null ? (raw as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** True for the state after a batch that begins a chapter. */
export function beginsChapter({ length, head }: State): boolean {
  return length > 1 && head.chapter === length - 1;
}

/** The state after a batch. */
export function grown(
  before: State | null,
  { head, lease, report }: AppendRequest,
  { slot, now, reader }: { readonly slot: number; readonly now: number; readonly reader: string },
): State {
  const same =
    before?.head.status === head.status &&
    before.head.wakeAt === head.wakeAt &&
    before.head.dueSince === head.dueSince;
  const base =
    before === null
      ? { length: 0, lease: null, starts: 0, startsAt: 0, since: slot, readers: [], reader }
      : unblocked(before);
  const state = {
    ...base,
    at: now,
    length: base.length + 1,
    head: keepReport(head, report ?? before?.head.report),
    lease: lease === undefined ? base.lease : lease && { owner: lease.owner, until: now + lease.ttlMs },
    quietUntil: 0,
    since: same ? base.since : slot,
    deleted: false,
    closed: false,
  };
  return placed(before, beginsChapter(state) ? { ...state, chapterSlot: slot } : state, { slot, now });
}

/**
 * A state as it is indexed from its slot on. While a driver holds a run, the index says until when, so that nobody reads the
 * run to see that it is not due. A drive that is shorter than half of its lease writes nothing for it.
 */
export function placed(
  before: State | null,
  state: State,
  { slot, now }: { readonly slot: number; readonly now: number },
): State {
  if (state.deleted) return state;
  const { held: said, ...rest } = state;
  const { head, lease } = state;
  const until = head.status === "running" ? Math.max(lease?.until ?? 0, state.quietUntil) : 0;
  const half = (until - now) / 2;
  const isRenewed = lease !== null && before?.lease?.owner === lease.owner;
  let held: number | undefined;
  if (until > now && said !== undefined) held = said <= until && said - now >= half ? said : until;
  else if (until > now && (state.since === slot || (isRenewed && now - (head.dueSince ?? now) >= half)))
    held = until;
  return held === said ? state : { ...rest, since: slot, ...(held !== undefined && { held }) };
}

export function isHeld({ lease }: State, now: number): boolean {
  return lease !== null && lease.until > now;
}

/** The state after a lease was taken or extended. */
export function leased(
  state: State,
  owner: string,
  { now, ttlMs }: { readonly now: number; readonly ttlMs: number },
): State {
  const since = startsOf(state);
  const starts = state.lease?.owner === owner ? since : since + 1;
  return {
    ...unblocked(state),
    at: now,
    lease: { owner, until: now + ttlMs },
    starts,
    startsAt: state.length,
  };
}

/** The state after a lease was given back: its start does not count. */
export function unleased(state: State, now: number): State {
  return { ...state, at: now, lease: null, starts: Math.max(0, startsOf(state) - 1), startsAt: state.length };
}

/** Leases taken since the journal last grew. */
export function startsOf({ starts, startsAt, length }: State): number {
  return startsAt === length ? starts : 0;
}

/** The note of a run, unless it is void. */
export function noteOf({ blocked, length, lease, deleted }: State): BlockedNote | null {
  if (blocked === undefined || deleted || blocked.note.length !== length) return null;
  return lease === null || lease.owner === blocked.owner ? blocked.note : null;
}

/** The state as it is written to a slot, with the note that it keeps. */
export function writtenTo(slot: number, state: State): State {
  return state.blocked === undefined ? state : { ...state, blocked: { ...state.blocked, last: slot } };
}

/** The state as a slot has it. A build without notes has taken or given back a lease where it copied one: it is void. */
export function readFrom(slot: number, state: State): State {
  return state.blocked === undefined || state.blocked.last === slot ? state : unblocked(state);
}

/** What the index says about a state: a note that is void has no index object. */
export function indexed(state: State): Pick<State, "head" | "since" | "held" | "blocked"> {
  const { head, since, held, blocked } = state;
  return {
    head,
    since,
    ...(held !== undefined && { held }),
    ...(blocked !== undefined && noteOf(state) !== null && { blocked }),
  };
}

function unblocked({ blocked: _blocked, ...state }: State): State {
  return state;
}

/** The state after a note. */
export function blockedBy(state: State, note: BlockedNote, place: { slot: number; now: number }): State {
  const { slot, now } = place;
  return { ...state, at: now, blocked: { note, slot, owner: state.lease?.owner ?? null, last: slot } };
}

/** The state after a lease was released. */
export function released(state: State, now: number, quietMs: number): State {
  return { ...state, at: now, lease: null, starts: 0, quietUntil: now + quietMs };
}

/** The state after a deletion. Names that the user gave are removed at once. */
export function hidden(before: State, now: number, markers: readonly string[]): State {
  const state = unblocked(before);
  const { locator, createdAt, updatedAt, ancestors, readsFrom, chapter } = state.head;
  const blank = {
    runId: "",
    workflow: "",
    status: "cancelled",
    wakeAt: null,
    dueSince: null,
    steps: 0,
  } as const;
  const read = { ancestors, ...(readsFrom && { readsFrom }), ...(chapter !== undefined && { chapter }) };
  const head = { ...blank, locator, createdAt, updatedAt, label: null, parent: null, ...read };
  const closed = state.readers.length === 0;
  return { ...state, at: closed ? state.at : now, head, lease: null, deleted: true, closed, markers };
}

/** The state after a fork registered as a reader of this run. */
export function readBy(state: State, now: number, reader: string, from: number): State {
  const readsFrom = from === 0 ? state.readsFrom : { ...state.readsFrom, [reader]: from };
  return { ...state, at: now, readers: [...state.readers, reader], ...(readsFrom && { readsFrom }) };
}

/** The state after a fork that read this run is gone. */
export function unreadBy(state: State, now: number, reader: string): State {
  const readers = state.readers.filter((other) => other !== reader);
  const closed = state.deleted && readers.length === 0;
  const { [reader]: _, ...readsFrom } = state.readsFrom ?? {};
  return {
    ...state,
    at: closed ? state.at : now,
    readers,
    ...(state.readsFrom && { readsFrom }),
    closed,
  };
}

/** Whether a fork reads a batch before this position. */
export function isReadBefore({ readers, readsFrom = {} }: State, position: number): boolean {
  return readers.some((reader) => (readsFrom[reader] ?? 0) < position);
}

/** The position of the first batch that is kept. */
export function firstPosition({ dropped }: State): number {
  return dropped?.position ?? 0;
}

/** The slot of the first batch that is kept. */
export function firstSlot({ dropped }: State): number {
  return dropped?.slot ?? 0;
}

/** The state after batches were dropped. It is indexed anew, because the slot that it was indexed by is dropped, too. */
export function droppedTo(
  state: State,
  to: ChapterSlot & { readonly position: number },
  { slot, now }: { readonly slot: number; readonly now: number },
): State {
  const last = state.dropped ?? { slot: 0, at: 0 };
  const previous = [{ slot: last.slot, at: last.at }, ...(state.dropped?.previous ?? []).slice(0, 1)];
  return { ...state, at: now, since: slot, dropped: { ...to, previous } };
}

/** How many write races a call may lose before it fails. */
export const mostTries = 50;

export function lostRaces(run: string): DurableError {
  return new DurableError(
    "storage-busy",
    `Lost ${mostTries} write races on the log of run ${run}. Try again later.`,
  );
}
