/** Counts the requests to a storage and the text that they move, for tests that limit round trips and their growth. */

import type { Storage } from "@durable/core";
import type { AppendRequest, ReadReply } from "@durable/core/storage";
import { optionalCalls, type Operation } from "./faulty-storage.ts";

/** How often each operation of a storage was called, and how much text it moved. */
export interface StorageCounts {
  /** Calls of `append`, refused ones included. */
  appends: number;
  /** Reads, of a whole journal or of a chapter. */
  reads: number;
  leases: number;
  releases: number;
  /** Lists and tallies. */
  lists: number;
  /** Claims of due runs. */
  claims: number;
  /** Calls that wait for a due run. */
  waits: number;
  /** Notes that were written. */
  notes: number;
  /** Calls that dropped chapters. */
  drops: number;
  /** Calls about schedules. */
  schedules: number;
  /** Characters that were appended: batches, and the bodies of their blobs. */
  written: number;
  /** Batches that reads returned. */
  batches: number;
  /** Characters that reads returned: batches, and the bodies of their blobs. */
  fetched: number;
}

/** Optional operations that are counted, and under which name. */
const counterOf: Readonly<Partial<Record<Operation, "notes" | "claims" | "drops" | "schedules" | "lists">>> =
  {
    note: "notes",
    claim: "claims",
    list: "lists",
    dropChapters: "drops",
    schedule: "schedules",
  };

const nothing: Readonly<StorageCounts> = {
  appends: 0,
  reads: 0,
  leases: 0,
  releases: 0,
  lists: 0,
  claims: 0,
  waits: 0,
  notes: 0,
  drops: 0,
  schedules: 0,
  written: 0,
  batches: 0,
  fetched: 0,
};

/** Counts the operations of a storage. */
export function countingStorage(storage: Storage): Storage & { readonly counts: StorageCounts } {
  const counts: StorageCounts = { ...nothing };
  const counted = async <R>(reading: Promise<R>): Promise<R> => {
    counts.reads += 1;
    const reply = await reading;
    const { batches = [], blobs = {} } = reply as Partial<ReadReply>;
    counts.batches += batches.length;
    for (const text of [...batches, ...Object.values(blobs)]) counts.fetched += text.length;
    return reply;
  };
  const wrapped: Storage = {
    append: (request) => {
      counts.appends += 1;
      counts.written += lengthOf(request);
      return storage.append(request);
    },
    read: (locator, from) => counted(storage.read(locator, from)),
    list: (query) => {
      counts.lists += 1;
      return storage.list(query);
    },
    lease: (locator, owner, ttlMs, slots) => {
      counts.leases += 1;
      return storage.lease(locator, owner, ttlMs, slots);
    },
    release: (locator, owner, quietMs) => {
      counts.releases += 1;
      return storage.release(locator, owner, quietMs);
    },
    delete: (locator) => storage.delete(locator),
    ...(storage.limits && { limits: storage.limits }),
    ...optionalCalls(storage, (operation, apply) => {
      if (operation === "read") return counted(apply());
      const name = counterOf[operation];
      if (name !== undefined) counts[name] += 1;
      return apply();
    }),
  };
  if (storage.changed !== undefined) wrapped.changed = storage.changed.bind(storage);
  const whenDue = storage.whenDue?.bind(storage);
  if (whenDue !== undefined)
    wrapped.whenDue = (workflow, signal, version) => {
      counts.waits += 1;
      return whenDue(workflow, signal, version);
    };
  if (storage.secret !== undefined) wrapped.secret = storage.secret.bind(storage);
  return Object.assign(wrapped, { counts });
}

function lengthOf({ batch, blobs = [] }: AppendRequest): number {
  return blobs.reduce((length, { body = "" }) => length + body.length, batch.length);
}
