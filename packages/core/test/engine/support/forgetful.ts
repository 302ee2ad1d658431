/** Storages that do not keep their word: one forgets what it acknowledged, one shows only the beginning. */

import { MemoryStorage, type Storage } from "@durable/core";
import type { Lab } from "../../support/behaviour-lab.ts";
import { batchesOf } from "../../support/behaviour-lives.ts";

export interface Forgetful extends Storage {
  /** Drops the last batches of run "r", and all leases with them, as a restored backup does. */
  forget(batches: number): Promise<void>;
}

/** It sends no notifications, so drivers have to poll. */
export function forgetful(on: Lab): Forgetful {
  let now: Storage = on.storage;
  return {
    append: (request) => now.append(request),
    read: (locator, from) => now.read(locator, from),
    list: (query) => now.list(query),
    lease: (locator, owner, ttlMs) => now.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => now.release(locator, owner, quietMs),
    delete: (locator) => now.delete(locator),
    forget: async (batches) => {
      const kept = (await batchesOf({ ...on, storage: now })).slice(0, -batches);
      const [head] = (await now.list()).runs;
      if (head === undefined) throw new Error("There is no run to forget.");
      now = new MemoryStorage({ now: () => on.world.now() });
      for (const [position, batch] of kept.entries())
        await now.append({ locator: head.locator, position, batch, head });
    },
  };
}

/** Gives at most `count` batches of any run. A stale copy believes that these are all; a cut reply knows better. */
export function prefixOnly(storage: Storage, count: number, length: "honest" | "stale"): Storage {
  return {
    append: (request) => storage.append(request),
    read: async (locator, from = 0) => {
      const whole = await storage.read(locator);
      const batches = whole.batches.slice(from, Math.max(from, count));
      return { batches, length: length === "honest" ? whole.length : Math.min(count, whole.length) };
    },
    list: (query) => storage.list(query),
    lease: (locator, owner, ttlMs) => storage.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
    delete: (locator) => storage.delete(locator),
  };
}
