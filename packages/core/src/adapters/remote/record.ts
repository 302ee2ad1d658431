/**
 * The records of a log. A record may have a batch. Every record has the state that results from it and all records
 * before it, so the last record alone has everything except the batches.
 */

import { DurableError } from "../../values/errors.ts";
import type { AppendRequest, RunHead } from "../../ports/storage.ts";

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
  /** The slot that set the present status and wake time. It is part of the keys of the index objects. */
  readonly since: number;
  /** Names of the forks that read this run, and the name under which this run is a reader of its ancestors. */
  readonly readers: readonly string[];
  readonly reader: string;
  /** Deleted: hidden, and kept only for its readers. */
  readonly deleted: boolean;
  /** Deleted, and without readers. No record follows. */
  readonly closed: boolean;
  /** Index objects that the run had when it was deleted. */
  readonly markers?: readonly string[];
}

/** The content of a blob, or the locator of the ancestor that stores it. */
export type BlobText = string | { readonly in: string };
export type KeptBlob = readonly [name: string, text: BlobText];

export interface LogRecord {
  /** Unique, so that a writer recognizes its own record. */
  readonly id: string;
  readonly slot: number;
  readonly state: State;
  readonly batch?: string;
  /** Blobs that this batch is the first of its run to name. */
  readonly blobs?: readonly KeptBlob[];
}

/** The content of the first slot of a generation that is over. */
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
      `Object ${key} was not written by this library, or is damaged. Restore the bucket from a backup.`,
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

/** The state after a batch. */
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

/** The state after a lease was taken or extended. */
export function leased(
  state: State,
  owner: string,
  { now, ttlMs }: { readonly now: number; readonly ttlMs: number },
): State {
  const since = state.startsAt === state.length ? state.starts : 0;
  const starts = state.lease?.owner === owner ? since : since + 1;
  return { ...state, at: now, lease: { owner, until: now + ttlMs }, starts, startsAt: state.length };
}

/** The state after a lease was released. */
export function released(state: State, now: number, quietMs: number): State {
  return { ...state, at: now, lease: null, starts: 0, quietUntil: now + quietMs };
}

/** The state after a deletion. Names that the user gave are removed at once. */
export function hidden(state: State, now: number, markers: readonly string[]): State {
  const { locator, createdAt, updatedAt, ancestors } = state.head;
  const blank = { runId: "", workflow: "", status: "cancelled", wakeAt: null, steps: 0 } as const;
  const head = { ...blank, locator, createdAt, updatedAt, label: null, parent: null, ancestors };
  const closed = state.readers.length === 0;
  return { ...state, at: closed ? state.at : now, head, lease: null, deleted: true, closed, markers };
}

/** The state after a fork registered as a reader of this run. */
export function readBy(state: State, now: number, reader: string): State {
  return { ...state, at: now, readers: [...state.readers, reader] };
}

/** The state after a fork that read this run is gone. */
export function unreadBy(state: State, now: number, reader: string): State {
  const readers = state.readers.filter((other) => other !== reader);
  const closed = state.deleted && readers.length === 0;
  return { ...state, at: closed ? state.at : now, readers, closed };
}
