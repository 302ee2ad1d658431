/** Faults in `claim` and `whenDue`, each with the test that must notice it. */

import type { MemoryStorage, RunHead } from "@durable/core";
import type { ClaimRequest } from "@durable/core/storage";
import type { Planted } from "./conformance-journal-faults.ts";

const never = (): AbortSignal => new AbortController().signal;

/** Claims as one that lists and keeps nothing from others would. */
async function listed(
  good: MemoryStorage,
  { workflow, dueAt, limit }: ClaimRequest,
): Promise<readonly RunHead[]> {
  return (await good.list({ workflow, dueAt, limit })).runs;
}

export const fleetFaults: readonly Planted[] = [
  [
    "claim takes due runs with their heads, longest due first",
    "takes the newest first",
    (good) => ({ claim: async (request) => (await good.claim(request)).toReversed() }),
  ],
  [
    "claim takes due runs with their heads, longest due first",
    "takes runs before their time",
    (good) => ({ claim: (request) => good.claim({ ...request, dueAt: Infinity }) }),
  ],
  [
    "claim takes at most as many as it is asked for",
    "takes one more",
    (good) => ({ claim: (request) => good.claim({ ...request, limit: request.limit + 1 }) }),
  ],
  [
    "claim takes no run that has a driver, is quiet, has ended, was deleted or waits",
    "does not look at workflows",
    (good) => ({ claim: (request) => good.claim({ ...request, workflow: ["loan", "deploy"] }) }),
  ],
  [
    "claim gives workflows their turns",
    "serves the longest due of all",
    (good) => ({
      claim: async (request) => {
        const { runs } = await good.list(request);
        await Promise.all(
          runs.map(async ({ locator }) => {
            await good.lease(locator, "x", 1);
            await good.release(locator, "x", request.quietMs);
          }),
        );
        return runs;
      },
    }),
  ],
  [
    "claim gives workflows their turns, also one run at a time",
    "always begins with the first",
    (good) => ({
      claim: async (request) => {
        const taken: RunHead[] = [];
        for (const workflow of request.workflow)
          taken.push(
            ...(await good.claim({ ...request, workflow: [workflow], limit: request.limit - taken.length })),
          );
        return taken;
      },
    }),
  ],
  [
    "claim keeps runs from lists and other claims for its time",
    "keeps nothing from others",
    (good) => ({ claim: (request) => listed(good, request) }),
  ],
  [
    "claim keeps runs from lists and other claims for its time",
    "keeps them for ever",
    (good) => ({ claim: (request) => good.claim({ ...request, quietMs: Infinity }) }),
  ],
  [
    "claim is ended by an append",
    "outlives it",
    (good) => {
      const claimed = new Set<string>();
      return {
        claim: async (request) => {
          const runs = (await good.claim(request)).filter(({ locator }) => !claimed.has(locator));
          for (const { locator } of runs) claimed.add(locator);
          return runs;
        },
      };
    },
  ],
  [
    "claim gives no right to drive, and counts no start",
    "leases what it takes",
    (good) => ({
      claim: async (request) => {
        const runs = await good.claim(request);
        for (const { locator } of runs) await good.lease(locator, "claimer", request.quietMs);
        return runs;
      },
    }),
  ],
  [
    "claim leaves a note as it is",
    "makes it void",
    (good) => ({
      claim: async (request) => {
        const runs = await good.claim(request);
        for (const { locator } of runs) await good.lease(locator, "claimer", 1);
        return runs;
      },
    }),
  ],
  [
    "claim gives each run to one of many that ask at the same time",
    "gives runs to two that ask at once",
    (good) => ({
      claim: async (request) => {
        const runs = await listed(good, request);
        await Promise.resolve();
        await good.claim(request);
        return runs;
      },
    }),
  ],
  [
    "claim gives each run to one of many that ask at the same time",
    "loses some of what it takes",
    (good) => ({ claim: async (request) => (await good.claim(request)).slice(1) }),
  ],
  [
    "whenDue waits while no run of its workflows is due",
    "never waits",
    () => ({ whenDue: () => Promise.resolve() }),
  ],
  [
    "whenDue waits while no run of its workflows is due",
    "does not look at workflows",
    (good) => ({
      whenDue: (_workflow, signal) => good.whenDue?.(["loan", "deploy"], signal) ?? Promise.resolve(),
    }),
  ],
  [
    "whenDue settles at once when a run is due already",
    "tells of new runs only",
    (good) => ({
      whenDue: async (workflow, signal) => {
        const { runs } = await good.list({ workflow, dueAt: Infinity });
        await good.claim({ workflow, dueAt: Infinity, limit: runs.length, quietMs: 10 ** 6 });
        await good.whenDue?.(workflow, signal);
      },
    }),
  ],
  [
    "whenDue settles when the time of a run has come",
    "has no timers",
    (good) => ({
      whenDue: async (workflow, signal) => {
        const { runs } = await good.list({ workflow, dueAt: 10 ** 15 });
        if (runs.length > 0) await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await good.whenDue?.(workflow, signal);
      },
    }),
  ],
  [
    "whenDue settles when a lease is released, given back, or ends with an append",
    "hears of appends only",
    (good) => ({
      whenDue: (workflow, signal) => good.whenDue?.(workflow, signal) ?? Promise.resolve(),
      release: async (locator, owner) => void (await good.lease(locator, owner, 10 ** 6)),
    }),
  ],
  [
    "whenDue settles on abort, before and after it began",
    "knows no abort",
    (good) => ({ whenDue: (workflow) => good.whenDue?.(workflow, never()) ?? Promise.resolve() }),
  ],
  [
    "whenDue wakes many waiting workers, and keeps none of them",
    "wakes one of them",
    (good) => {
      let waiting = 0;
      return {
        whenDue: (workflow, signal) =>
          waiting++ === 0 ? (good.whenDue?.(workflow, signal) ?? Promise.resolve()) : new Promise(() => {}),
      };
    },
  ],
  [
    "whenDue wakes many waiting workers, and keeps none of them",
    "leaves its listeners",
    (good) => ({
      whenDue: (workflow, signal) => {
        signal.addEventListener("abort", () => {});
        return good.whenDue?.(workflow, signal) ?? Promise.resolve();
      },
    }),
  ],
  [
    "a tally finds a run due exactly when lists do",
    "counts runs with a driver as due",
    (good) => ({
      tally: async (dueAt) =>
        (await good.tally(dueAt)).map((part) => ({ ...part, due: part.due || part.driven })),
    }),
  ],
  [
    "a tally counts deleted runs no longer, and as many as there are",
    "stops after a page",
    (good) => ({
      tally: async (dueAt) =>
        (await good.tally(dueAt)).map((part) => ({ ...part, runs: Math.min(part.runs, 1_000) })),
    }),
  ],
  [
    "a lease that its owner did not give back is taken over, and says so",
    "says so of every lease",
    (good) => ({
      lease: async (...given) => {
        const lease = await good.lease(...given);
        return lease && { ...lease, tookOver: true };
      },
    }),
  ],
];
