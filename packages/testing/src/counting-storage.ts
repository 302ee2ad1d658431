/** Counts the requests to a storage, for tests that limit round trips. */

import type { Storage } from "@durable/core";
import { optionalCalls, type Operation } from "./faulty-storage.ts";

/** How often each operation of a storage was called. */
export interface StorageCounts {
  appends: number;
  /** Reads, of a whole journal or of a chapter. */
  reads: number;
  leases: number;
  releases: number;
  lists: number;
  /** Notes that were written. */
  notes: number;
  /** Calls that dropped chapters. */
  drops: number;
  /** Characters that were appended: batches, and the bodies of their blobs. */
  written: number;
}

const optional: Readonly<Partial<Record<Operation, keyof StorageCounts>>> = {
  note: "notes",
  dropChapters: "drops",
};

/** Counts the operations of a storage. */
export function countingStorage(storage: Storage): Storage & { readonly counts: StorageCounts } {
  const counts: StorageCounts = {
    appends: 0,
    reads: 0,
    leases: 0,
    releases: 0,
    lists: 0,
    notes: 0,
    drops: 0,
    written: 0,
  };
  const wrapped: Storage = {
    append: (request) => {
      counts.appends += 1;
      counts.written += request.batch.length;
      for (const { body = "" } of request.blobs ?? []) counts.written += body.length;
      return storage.append(request);
    },
    read: (locator, from) => {
      counts.reads += 1;
      return storage.read(locator, from);
    },
    list: (query) => {
      counts.lists += 1;
      return storage.list(query);
    },
    lease: (locator, owner, ttlMs) => {
      counts.leases += 1;
      return storage.lease(locator, owner, ttlMs);
    },
    release: (locator, owner, quietMs) => {
      counts.releases += 1;
      return storage.release(locator, owner, quietMs);
    },
    delete: (locator) => storage.delete(locator),
    ...optionalCalls(storage, (operation, apply) => {
      counts[optional[operation] ?? "reads"] += 1;
      return apply();
    }),
  };
  if (storage.changed !== undefined) wrapped.changed = storage.changed.bind(storage);
  if (storage.secret !== undefined) wrapped.secret = storage.secret.bind(storage);
  return Object.assign(wrapped, { counts });
}
