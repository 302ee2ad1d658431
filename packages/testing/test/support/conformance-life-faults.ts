/** Faults in leases, deletion, waiting and closing, each with the test that must notice it. */

import { heads, type Planted } from "./conformance-journal-faults.ts";

export const lifeFaults: readonly Planted[] = [
  [
    "a run with a live driver is not due until the lease ends",
    "drops leases",
    (good) => ({
      lease: async (locator, owner, ttlMs) => {
        const lease = await good.lease(locator, owner, ttlMs);
        await good.release(locator, owner);
        return lease;
      },
    }),
  ],
  [
    "a quiet run is not due until its time",
    "knows no quiet",
    (good) => ({
      release: (locator, owner) => good.release(locator, owner),
    }),
  ],
  [
    "an append ends the quiet",
    "keeps it",
    (good) => {
      const quiet = new Set<string>();
      return {
        release: (locator, owner, quietMs) => {
          if (quietMs) quiet.add(locator);
          return good.release(locator, owner, quietMs);
        },
        list: (query = {}) => heads(good, query, (runs) => runs.filter(({ locator }) => !quiet.has(locator))),
      };
    },
  ],
  [
    "lease is given to one owner at a time",
    "gives it to all",
    (good) => ({
      lease: async (locator) => ({ starts: 1, length: (await good.read(locator)).length }),
    }),
  ],
  [
    "lease ends by the clock, and can be extended before",
    "never ends",
    (good) => ({
      lease: (locator, owner) => good.lease(locator, owner, Infinity),
    }),
  ],
  [
    "lease is given back by its owner alone",
    "by any owner",
    (good) => ({
      release: async (locator, _owner, quietMs) => {
        for (const owner of ["a", "b"]) await good.release(locator, owner, quietMs);
      },
    }),
  ],
  [
    "starts count the leases since the journal last grew",
    "counts every call",
    (good) => {
      let starts = 0;
      return {
        lease: async (locator, owner, ttlMs) => {
          const lease = await good.lease(locator, owner, ttlMs);
          return lease && { ...lease, starts: ++starts };
        },
      };
    },
  ],
  [
    "a lease that is given back with 0 is no start, and the run is due again",
    "lets it expire",
    (good) => ({
      lease: (locator, owner, ttlMs) => good.lease(locator, owner, ttlMs || Number.MIN_VALUE),
    }),
  ],
  [
    "a lease that is given back with 0 is no start, and the run is due again",
    "forgets all starts",
    (good) => ({
      lease: async (locator, owner, ttlMs) => {
        const lease = await good.lease(locator, owner, ttlMs || 1_000);
        if (ttlMs === 0) await good.release(locator, owner);
        return lease;
      },
    }),
  ],
  [
    "a lease that came with an append can be given back with 0",
    "keeps it",
    (good) => ({
      lease: (locator, owner, ttlMs) => good.lease(locator, owner, ttlMs || 1_000),
    }),
  ],
  [
    "a lease is given back with 0 by its owner alone",
    "by any owner",
    (good) => ({
      lease: async (locator, owner, ttlMs) => {
        const lease = await good.lease(locator, owner, ttlMs);
        return ttlMs === 0 ? good.lease(locator, "a", 0) : lease;
      },
    }),
  ],
  [
    "lease returns the number of batches",
    "tells 1",
    (good) => ({
      lease: async (locator, owner, ttlMs) => {
        const lease = await good.lease(locator, owner, ttlMs);
        return lease && { ...lease, length: 1 };
      },
    }),
  ],
  [
    "an append takes the lease for its owner",
    "ignores it",
    (good) => ({
      append: ({ lease: _lease, ...request }) => good.append(request),
    }),
  ],
  [
    "an append without a lease leaves it alone",
    "gives it back",
    (good) => ({
      append: (request) => good.append({ lease: null, ...request }),
    }),
  ],
  ["delete hides a run at once", "does nothing", () => ({ delete: () => Promise.resolve() })],
  [
    "delete beats a fork that is made of the run at the same time",
    "takes a run whose ancestors have gone",
    (good) => ({
      append: (request) => good.append({ ...request, head: { ...request.head, ancestors: [] } }),
    }),
  ],
  [
    "delete keeps a driver of the run that had this id before out of the new one (H17)",
    "counts batches and does not ask whose they are",
    (good) => ({
      append: async (request) => {
        const { runs } = await good.list();
        const { createdAt } = runs.find(({ locator }) => locator === request.locator) ?? request.head;
        await good.append({ ...request, head: { ...request.head, createdAt } });
      },
    }),
  ],
  [
    "delete keeps the batches that a fork reads, and their id",
    "knows no forks",
    (good) => ({
      append: (request) => good.append({ ...request, head: { ...request.head, ancestors: [] } }),
    }),
  ],
  [
    "delete leaves nothing behind for a new run of the same id (H17)",
    "keeps the batches",
    (good) => {
      const kept = new Map<string, readonly string[]>();
      return {
        delete: async (locator) => {
          kept.set(locator, (await good.read(locator)).batches);
          await good.delete(locator);
        },
        read: async (locator, from = 0) => {
          const { batches, length } = await good.read(locator);
          return { batches: [...batches, ...(kept.get(locator) ?? []).slice(length)].slice(from), length };
        },
      };
    },
  ],
  [
    "changed settles when the journal grows, and not before",
    "settles at once",
    () => ({
      changed: () => Promise.resolve(),
    }),
  ],
  [
    "changed settles when the journal grows, and not before",
    "settles on abort alone",
    (good) => ({
      changed: (locator, _length, signal) => good.changed(locator, Infinity, signal),
    }),
  ],
  [
    "changed settles on abort, before and after it began",
    "knows no abort",
    (good) => ({
      changed: (locator, length) => good.changed(locator, length, new AbortController().signal),
    }),
  ],
  [
    "changed wakes many waiting callers, and keeps none of them",
    "leaves its listeners",
    (good) => ({
      changed: (locator, length, signal) => {
        signal.addEventListener("abort", () => {});
        return good.changed(locator, length, signal);
      },
    }),
  ],
  [
    "secret is long, and always the same",
    "is another each time",
    () => {
      let count = 0;
      return { secret: () => Promise.resolve(`${"x".repeat(40)}${++count}`) };
    },
  ],
  [
    "close refuses every later call with storage-closed",
    "goes on",
    () => ({ close: () => Promise.resolve() }),
  ],
];
