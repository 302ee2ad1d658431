/**
 * What a log is made of. A record may bring a batch; every record brings the state it leaves behind, because whoever
 * created it knew all records before: the last one alone says all there is to know but the batches.
 */

import { DurableError } from "../../values/errors.ts";
import type { AppendRequest, RunHead } from "../../ports/storage.ts";

export interface State {
  /** When its log last grew, by the clock of whoever wrote; the record that closes it aside, which always stays. */
  readonly at: number;
  /** Batches, of which there are fewer than records. */
  readonly length: number;
  readonly head: RunHead;
  readonly lease: { readonly owner: string; readonly until: number } | null;
  /** Leases taken when the journal had `startsAt` batches. */
  readonly starts: number;
  readonly startsAt: number;
  readonly quietUntil: number;
  /** The slot that brought this status and this wake time: the keys of its index objects carry it. */
  readonly since: number;
  /** Forks that read this run, by the names they gave themselves; and its own name with those it reads. */
  readonly readers: readonly string[];
  readonly reader: string;
  /** Hidden, and kept for its readers alone. */
  readonly deleted: boolean;
  /** Hidden, and nobody reads it: nothing comes after this. */
  readonly closed: boolean;
  /** Index objects it had when it was hidden. */
  readonly markers?: readonly string[];
}

/** A blob is kept whole by the run that names it first, or by one that it reads. */
export type BlobText = string | { readonly in: string };
export type KeptBlob = readonly [name: string, text: BlobText];

export interface LogRecord {
  /** One id, one byte string: by it a writer knows its own record again. */
  readonly id: string;
  readonly slot: number;
  readonly state: State;
  readonly batch?: string;
  /** What the batch was the first of its run to name. */
  readonly blobs?: readonly KeptBlob[];
}

/** What stands in the first slot of a life that is over. */
export const gone = { id: "", gone: true } as const;

const version = 1;

export function writeObject(object: object): string {
  return JSON.stringify({ v: version, ...object });
}

/** Reads what `writeObject` wrote. */
export function readObject(text: string, key: string): Readonly<Record<string, unknown>> {
  const raw = parsed(text);
  const found = raw?.["v"];
  if (typeof found === "number" && found > version) {
    throw new DurableError(
      "newer-format",
      `Object ${key} was written in layout ${found}, newer than this build reads (${version}). Upgrade @durable/core in this process.`,
    );
  }
  if (raw === null || found !== version)
    throw new DurableError(
      "corrupt",
      `Object ${key} is not what this library wrote. Restore the bucket from a backup.`,
    );
  return raw;
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const raw: unknown = JSON.parse(text);
    return typeof raw === "object" && raw !== null ? (raw as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** After a batch. */
export function grown(
  before: State | null,
  { head, lease }: AppendRequest,
  { slot, now, reader }: { readonly slot: number; readonly now: number; readonly reader: string },
): State {
  const same = before?.head.status === head.status && before.head.wakeAt === head.wakeAt;
  const base = before ?? { length: 0, lease: null, starts: 0, startsAt: 0, since: slot, readers: [], reader };
  return {
    ...base,
    at: now,
    length: base.length + 1,
    head,
    lease: lease === undefined ? base.lease : lease && { owner: lease.owner, until: now + lease.ttlMs },
    quietUntil: 0,
    since: same ? base.since : slot,
    deleted: false,
    closed: false,
  };
}

export function isHeld({ lease }: State, now: number): boolean {
  return lease !== null && lease.until > now;
}

/** After a lease was taken or extended. */
export function leased(
  state: State,
  owner: string,
  { now, ttlMs }: { readonly now: number; readonly ttlMs: number },
): State {
  const since = state.startsAt === state.length ? state.starts : 0;
  const starts = state.lease?.owner === owner ? since : since + 1;
  return { ...state, at: now, lease: { owner, until: now + ttlMs }, starts, startsAt: state.length };
}

/** After a lease was given back. */
export function released(state: State, now: number, quietMs: number): State {
  return { ...state, at: now, lease: null, starts: 0, quietUntil: now + quietMs };
}

/** After it was deleted: what it was called is forgotten at once. */
export function hidden(state: State, now: number, markers: readonly string[]): State {
  const { locator, createdAt, updatedAt, ancestors } = state.head;
  const nobody = { runId: "", workflow: "", status: "cancelled", wakeAt: null, steps: 0 } as const;
  const head = { ...nobody, locator, createdAt, updatedAt, label: null, parent: null, ancestors };
  const closed = state.readers.length === 0;
  return { ...state, at: closed ? state.at : now, head, lease: null, deleted: true, closed, markers };
}

/** After a fork said that it reads this run. */
export function readBy(state: State, now: number, reader: string): State {
  return { ...state, at: now, readers: [...state.readers, reader] };
}

/** After a fork that read this run has gone. */
export function unreadBy(state: State, now: number, reader: string): State {
  const readers = state.readers.filter((other) => other !== reader);
  const closed = state.deleted && readers.length === 0;
  return { ...state, at: closed ? state.at : now, readers, closed };
}
