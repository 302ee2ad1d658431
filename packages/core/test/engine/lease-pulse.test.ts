/**
 * When a driver renews its lease. Too late is a fault that no value shows: another driver takes the run while the first
 * one works. Too often is one as well: every renewal is a write.
 */

import { durable, type Storage } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, type Lab } from "../support/behaviour-lab.ts";

/** What a storage saw of the lease of one run: how much was left at each renewal, and at each append. */
interface Seen {
  readonly renewals: number[];
  readonly appends: number[];
}

/** A storage whose replies take time; it notes what was left of the lease when a request arrived. */
function watched({ storage, world }: Lab, latencyMs: number): { storage: Storage; seen: Seen } {
  const seen: Seen = { renewals: [], appends: [] };
  let until = 0;
  const slowly = async <T>(apply: () => Promise<T>): Promise<T> => {
    await pause(world, latencyMs);
    const result = await apply();
    await pause(world, latencyMs);
    return result;
  };
  const leased = (ttlMs: number, into: number[]): void => {
    if (until > 0 && ttlMs > 0) into.push(until - world.now());
    until = world.now() + ttlMs;
  };
  return {
    seen,
    storage: {
      append: (request) =>
        slowly(() => {
          if (request.lease) leased(request.lease.ttlMs, seen.appends);
          return storage.append(request);
        }),
      lease: (locator, owner, ttlMs) =>
        slowly(() => {
          leased(ttlMs, seen.renewals);
          return storage.lease(locator, owner, ttlMs);
        }),
      read: (locator, from) => slowly(() => storage.read(locator, from)),
      list: (query) => storage.list(query),
      release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
      delete: (locator) => storage.delete(locator),
    },
  };
}

async function seenOf({
  leaseMs,
  stepMs,
  steps,
  latencyMs = 0,
}: {
  leaseMs: number;
  stepMs: number;
  steps: number;
  latencyMs?: number;
}): Promise<Seen> {
  const on = lab();
  const { storage, seen } = watched(on, latencyMs);
  const flow = durable("f", async (ctx) => {
    for (let n = 0; n < steps; n++) await ctx.step("work", () => pause(on.world, stepMs));
    return "done";
  });
  const bound = flow.with({ ...on, storage, lease: leaseMs });
  expect(outputOf(await on.world.run(bound.run(undefined, { id: "r" })))).toBe("done");
  return seen;
}

const leases = [1_000, 30_000, 600_000];

describe("one long step", () => {
  test.each(leases)("with a lease of %i ms renews it while a good part is left", async (leaseMs) => {
    const { renewals, appends } = await seenOf({ leaseMs, stepMs: 20 * leaseMs, steps: 1 });
    for (const left of [...renewals, ...appends]) expect(left).toBeGreaterThan(leaseMs / 3 - 1);
  });

  test.each(leases)("with a lease of %i ms renews it no more than twice in its time", async (leaseMs) => {
    const { renewals } = await seenOf({ leaseMs, stepMs: 20 * leaseMs, steps: 1 });
    expect(renewals.length).toBeGreaterThanOrEqual(20);
    expect(renewals.length).toBeLessThanOrEqual(2 * 20);
  });

  test.each([0.05, 0.1, 0.2])(
    "keeps its lease on a storage that takes %f of it for a reply",
    async (part) => {
      const leaseMs = 30_000;
      const { renewals, appends } = await seenOf({
        leaseMs,
        stepMs: 20 * leaseMs,
        steps: 1,
        latencyMs: (part * leaseMs) / 2,
      });
      for (const left of [...renewals, ...appends]) expect(left).toBeGreaterThan(0);
    },
  );
});

describe("steps that are recorded more often than half a lease", () => {
  test.each(leases)(
    "extend a lease of %i ms with their appends, and it is never renewed",
    async (leaseMs) => {
      const { renewals, appends } = await seenOf({ leaseMs, stepMs: leaseMs / 5, steps: 50 });
      expect(renewals).toEqual([]);
      expect(appends.length).toBeGreaterThanOrEqual(49);
    },
  );
});
