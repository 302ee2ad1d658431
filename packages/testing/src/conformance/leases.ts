/**
 * Leases: advisory, one owner at a time, by the storage's clock. They save work; correctness does not depend
 * on them. Proven in test/conformance.test.ts.
 */

import { expect } from "vitest";
import { request, type Checks } from "./subject.ts";

export const leaseChecks: Checks = {
  "lease of an unknown run is null": async ({ storage }) => {
    expect(await storage.lease("nobodynobodynobody", "a", 1_000)).toBeNull();
    await storage.release("nobodynobodynobody", "a");
    expect(await storage.read("nobodynobodynobody")).toMatchObject({ batches: [], length: 0 });
  },

  "lease is given to one owner at a time": async (subject) => {
    const { storage } = subject;
    const { locator } = await subject.create();
    expect(await storage.lease(locator, "a", 1_000)).toEqual({ starts: 1, length: 1 });
    expect(await storage.lease(locator, "b", 1_000)).toBeNull();
    expect(await storage.lease(locator, "a", 1_000)).toEqual({ starts: 1, length: 1 });
    expect(await storage.lease((await subject.create()).locator, "b", 1_000)).not.toBeNull();
  },

  "lease is given to one of 32 concurrent owners": async (subject) => {
    const { storage } = subject;
    const { locator } = await subject.create();
    const asked = Array.from({ length: 32 }, (_, n) => storage.lease(locator, `owner ${n}`, 1_000));
    expect((await Promise.all(asked)).filter((lease) => lease !== null)).toHaveLength(1);
  },

  "lease is refused to the owner of another handle": async (subject) => {
    const second = await subject.second();
    const { locator } = await subject.create();
    await subject.storage.lease(locator, "a", 1_000);
    expect(await second.lease(locator, "b", 1_000)).toBeNull();
    await subject.storage.release(locator, "a");
    expect(await second.lease(locator, "b", 1_000)).not.toBeNull();
    expect(await subject.storage.lease(locator, "a", 1_000)).toBeNull();
  },

  "lease ends by the clock, and can be extended before": async (subject) => {
    const { storage, clock } = subject;
    const { locator } = await subject.create();
    await storage.lease(locator, "a", 1_000);
    clock.now += 900;
    expect(await storage.lease(locator, "a", 1_000)).not.toBeNull();
    clock.now += 999;
    expect(await storage.lease(locator, "b", 1_000)).toBeNull();
    clock.now += 1;
    expect(await storage.lease(locator, "b", 1_000)).not.toBeNull();
    expect(await storage.lease(locator, "a", 1_000), "the late owner").toBeNull();
  },

  "lease is given back by its owner alone": async (subject) => {
    const { storage } = subject;
    const head = await subject.create();
    await storage.lease(head.locator, "a", 1_000);
    await storage.release(head.locator, "b", 60_000);
    expect(await storage.lease(head.locator, "b", 1_000)).toBeNull();
    await storage.release(head.locator, "a");
    expect(await subject.due(), "the other release made nothing quiet").toEqual([head.locator]);
    expect(await storage.lease(head.locator, "b", 1_000)).not.toBeNull();
    await storage.release(head.locator, "a");
    expect(await storage.lease(head.locator, "a", 1_000), "a late release").toBeNull();
  },

  "lease returns the number of batches": async (subject) => {
    const { storage } = subject;
    const head = await subject.createLong(7);
    expect(await storage.lease(head.locator, "a", 1_000)).toMatchObject({ length: 7 });
    await storage.append(request(head, 7));
    expect(await storage.lease(head.locator, "a", 1_000)).toMatchObject({ length: 8 });
  },

  "starts count the leases since the journal last grew": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create();
    const starts = async (owner: string): Promise<number | undefined> => {
      const lease = await storage.lease(head.locator, owner, 1_000);
      return lease?.starts;
    };
    const counted: (number | undefined)[] = [];
    for (const owner of ["a", "b", "c"]) {
      counted.push(await starts(owner));
      clock.now += 500;
      counted.push(await starts(owner));
      clock.now += 1_000;
    }
    expect(counted, "the same owner again does not count").toEqual([1, 1, 2, 2, 3, 3]);
    await storage.release(head.locator, "c");
    expect(await starts("c"), "given back alive, and taken again").toBe(1);
    await storage.append(request(head, 1));
    expect(await starts("c"), "after an append").toBe(1);
    clock.now += 1_000;
    expect(await starts("d")).toBe(1);
    clock.now += 1_000;
    expect(await starts("e")).toBe(2);
  },

  "a lease that is given back with 0 is no start, and the run is due again": async (subject) => {
    const { storage, clock } = subject;
    const { locator } = await subject.create();
    const starts = async (owner: string): Promise<number | undefined> =>
      (await storage.lease(locator, owner, 1_000))?.starts;
    for (const owner of ["a", "b"]) {
      expect(await starts(owner), "given back each time").toBe(1);
      expect(await subject.due()).toEqual([]);
      expect(await storage.lease(locator, owner, 0)).toMatchObject({ starts: 1, length: 1 });
      expect(await subject.due()).toEqual([locator]);
    }
    expect(await starts("a")).toBe(1);
    clock.now += 1_000;
    expect(await starts("b"), "the one that expired counts").toBe(2);
    await storage.lease(locator, "b", 0);
    expect(await starts("c")).toBe(2);
    clock.now += 1_000;
    expect(await starts("c"), "the same owner again").toBe(2);
    clock.now += 1_000;
    expect(await storage.lease(locator, "c", 0), "also after it ended").not.toBeNull();
    expect(await starts("d")).toBe(2);
  },

  "a lease that came with an append can be given back with 0": async (subject) => {
    const { storage } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 60_000 });
    await storage.lease(head.locator, "a", 60_000);
    await storage.lease(head.locator, "a", 0);
    expect(await subject.due()).toEqual([head.locator]);
    expect(await storage.lease(head.locator, "b", 1_000)).toEqual({ starts: 1, length: 1 });
    await storage.append(request(head, 1));
    await storage.lease(head.locator, "b", 0);
    expect(await storage.lease(head.locator, "c", 1_000)).toEqual({ starts: 1, length: 2 });
  },

  "a lease is given back with 0 by its owner alone": async (subject) => {
    const { storage } = subject;
    const { locator } = await subject.create();
    expect(await storage.lease("nobodynobodynobody", "a", 0)).toBeNull();
    expect(await storage.lease(locator, "a", 0), "no owner has it").toBeNull();
    await storage.lease(locator, "a", 1_000);
    expect(await storage.lease(locator, "b", 0)).toBeNull();
    expect(await storage.lease(locator, "b", 1_000), "it was not given back").toBeNull();
    await storage.lease(locator, "a", 0);
    expect(await storage.lease(locator, "a", 0), "given back already").toBeNull();
    expect(await storage.lease(locator, "b", 1_000)).toEqual({ starts: 1, length: 1 });
  },

  "starts begin at one when another owner takes over from the run's creator": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    clock.now += 1_000;
    expect(await storage.lease(head.locator, "b", 1_000)).toMatchObject({ starts: 1, length: 1 });
    await storage.append(request(head, 1, { owner: "b", ttlMs: 1_000 }));
    clock.now += 1_000;
    expect(await storage.lease(head.locator, "c", 1_000)).toMatchObject({ starts: 1, length: 2 });
  },

  "a lease that its owner did not give back is taken over, and says so": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    const lease = async (owner: string) => {
      clock.now += 1_000;
      const granted = await storage.lease(head.locator, owner, 1_000);
      expect(granted).not.toBeNull();
      return granted?.tookOver;
    };
    // A storage that does not know who had the last lease says nothing.
    const first = await lease("b");
    expect([true, undefined]).toContain(first);
    if (first === undefined) return;
    expect(await lease("b"), "its own").toBeUndefined();
    const claim = storage.claim?.bind(storage);
    clock.now += 1_000;
    if (claim !== undefined)
      expect(
        await claim({ workflow: [head.workflow], dueAt: clock.now, limit: 1, quietMs: 5_000 }),
      ).toHaveLength(1);
    expect((await storage.lease(head.locator, "c", 1_000))?.tookOver, "after a claim").toBe(true);
    await storage.release(head.locator, "c");
    expect(await lease("d"), "released").toBeUndefined();
    await storage.lease(head.locator, "d", 0);
    expect(await lease("e"), "given back").toBeUndefined();
    await storage.append(request(head, 1, null));
    expect(await lease("f"), "given back by an append").toBeUndefined();
  },

  "an append takes the lease for its owner": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    expect(await storage.lease(head.locator, "b", 1_000), "with the first batch").toBeNull();
    clock.now += 900;
    await storage.append(request(head, 1, { owner: "a", ttlMs: 1_000 }));
    clock.now += 900;
    expect(await storage.lease(head.locator, "b", 1_000), "extended").toBeNull();
    // The lease follows the journal: it belongs to the last driver that appended.
    await storage.append(request(head, 2, { owner: "c", ttlMs: 1_000 }));
    expect(await storage.lease(head.locator, "a", 1_000)).toBeNull();
    expect(await storage.lease(head.locator, "c", 1_000)).not.toBeNull();
  },

  "an append with a lease of null gives it back, whichever owner had it": async (subject) => {
    const { storage } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    await storage.append(request(head, 1, null));
    expect(await storage.lease(head.locator, "b", 1_000)).not.toBeNull();
  },

  "an append without a lease leaves it alone": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    await storage.append(request(head, 1));
    expect(await storage.lease(head.locator, "b", 1_000)).toBeNull();
    clock.now += 1_000;
    expect(await storage.lease(head.locator, "b", 1_000)).not.toBeNull();
  },
};
