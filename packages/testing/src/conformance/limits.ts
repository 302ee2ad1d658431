/**
 * `limits`: slots that are taken with the lease, and texts that change by compare-and-swap. Proven in
 * test/conformance.test.ts.
 */

import type { RunHead, Storage } from "@durable/core";
import { expect } from "vitest";
import { singletonChecks } from "./singletons.ts";
import { request, type Checks, type Subject } from "./subject.ts";

const slots = { loan: 2 };
const ttl = 10_000;
const quietMs = 5_000;

async function slotted(subject: Subject, slot = "a", changes: Partial<RunHead> = {}): Promise<RunHead> {
  expect(subject.limits).toBeDefined();
  return subject.create({ flow: { slot }, ...changes });
}

function take(storage: Storage, { locator }: RunHead, owner: string): Promise<unknown> {
  return storage.lease(locator, owner, ttl, slots);
}

const granted = { starts: 1 };
const full = { full: true };

async function claimed(subject: Subject, limit = 100, storage: Storage = subject.storage): Promise<string[]> {
  subject.optional("claim");
  const request = { workflow: ["loan", "mail"], dueAt: subject.clock.now, limit, quietMs, slots };
  return ((await storage.claim?.(request)) ?? []).map(({ locator }) => locator);
}

const leasing: Checks = {
  "limits: a lease is granted while its slot is free": async (subject) => {
    const { storage } = subject;
    const [a, b, c] = [await slotted(subject), await slotted(subject), await slotted(subject)];
    const other = await slotted(subject, "b");
    expect(await take(storage, a, "1")).toMatchObject(granted);
    expect(await take(storage, b, "2")).toMatchObject(granted);
    expect(await take(storage, c, "3")).toMatchObject({ ...full, length: 1 });
    expect(await take(storage, other, "4"), "another key").toMatchObject(granted);
    expect(await take(storage, a, "1"), "extended").toMatchObject(granted);
    expect(await take(storage, a, "5"), "another driver has it").toBeNull();
    await storage.release(b.locator, "2");
    expect(await take(storage, c, "3")).toMatchObject(granted);
    expect(await take(storage, b, "2")).toMatchObject(full);
  },

  "limits: a refused lease counts no start, and leaves the run as it was": async (subject) => {
    const { storage } = subject;
    const [a, b, c] = [await slotted(subject), await slotted(subject), await slotted(subject)];
    await take(storage, a, "1");
    await take(storage, b, "2");
    for (let n = 0; n < 3; n++) await take(storage, c, `refused-${n}`);
    expect(await subject.due()).toEqual([c.locator]);
    await storage.release(a.locator, "1");
    expect(await take(storage, c, "3")).toMatchObject({ starts: 1, length: 1 });
  },

  "limits: runs without a slot, and workflows without a limit, are not limited": async (subject) => {
    const { storage, clock } = subject;
    expect(subject.limits).toBeDefined();
    const runs: RunHead[] = [];
    for (let n = 0; n < 3; n++) runs.push(await subject.create());
    for (let n = 0; n < 3; n++) runs.push(await slotted(subject, "a", { workflow: "mail" }));
    for (const run of runs) expect(await take(storage, run, "1")).toMatchObject(granted);
    const free = await slotted(subject);
    for (const owner of ["1", "2"]) {
      expect(await storage.lease(free.locator, owner, ttl), "without slots").toMatchObject({ length: 1 });
      clock.now += ttl;
    }
  },

  "limits: a slot is free when its run parks, ends, is released or deleted": async (subject) => {
    const { storage } = subject;
    const last = await slotted(subject);
    const park = (head: RunHead): Promise<void> =>
      storage.append(request({ ...head, status: "suspended", wakeAt: null }, 1, null));
    const end = (head: RunHead): Promise<void> =>
      storage.append(request({ ...head, status: "completed", wakeAt: null }, 1, null));
    const release = (head: RunHead): Promise<void> => storage.release(head.locator, "x", 60_000);
    const giveBack = async (head: RunHead): Promise<void> => void (await storage.lease(head.locator, "x", 0));
    const remove = (head: RunHead): Promise<void> => storage.delete(head.locator);
    for (const free of [park, end, release, giveBack, remove]) {
      const [a, b] = [await slotted(subject), await slotted(subject)];
      expect(await take(storage, a, "x")).toMatchObject(granted);
      expect(await take(storage, b, "y")).toMatchObject(granted);
      expect({ how: free.name, lease: await take(storage, last, "z") }).toMatchObject({ lease: full });
      await free(a);
      expect({ how: free.name, lease: await take(storage, last, "z") }).toMatchObject({ lease: granted });
      await storage.release(last.locator, "z");
      await storage.release(b.locator, "y");
    }
  },

  "limits: a slot is free when its lease has expired, and is taken again by its driver": async (subject) => {
    const { storage, clock } = subject;
    const [a, b, c] = [await slotted(subject), await slotted(subject), await slotted(subject)];
    await take(storage, a, "1");
    await take(storage, b, "2");
    clock.now += ttl;
    expect(await take(storage, c, "3")).toMatchObject(granted);
    expect(await take(storage, a, "1")).toMatchObject({ length: 1 });
    expect(await take(storage, b, "2"), "its slot is gone").toMatchObject(full);
  },

  "limits: an append under an expired lease does not take the slot back": async (subject) => {
    const { storage, clock, limits } = subject;
    const runs = [
      await slotted(subject),
      await slotted(subject),
      await slotted(subject),
      await slotted(subject),
    ];
    const [a, b, c, d] = runs as [RunHead, RunHead, RunHead, RunHead];
    const grow = (head: RunHead, position: number, owner: string): Promise<void> =>
      storage.append(request({ ...head, steps: position }, position, { owner, ttlMs: ttl }));
    await take(storage, a, "1");
    await take(storage, b, "2");
    clock.now += ttl - 1;
    await grow(b, 1, "2");
    clock.now += 1;
    expect(await take(storage, c, "3")).toMatchObject(granted);
    await grow(a, 1, "1");
    await grow(a, 2, "1");
    expect((await storage.read(a.locator)).length, "the journal decides, not the lease").toBe(3);
    expect(await limits.slots()).toEqual([{ workflow: "loan", slot: "a", taken: 2, waiting: 2 }]);
    expect(await take(storage, a, "1"), "its slot is gone").toMatchObject(full);
    expect(await take(storage, d, "4")).toMatchObject(full);
    await storage.release(c.locator, "3");
    expect(await take(storage, a, "1")).toMatchObject({ length: 3 });
    expect(await take(storage, d, "4"), "b was extended while its lease was live").toMatchObject(full);
    await Promise.all([grow(a, 3, "1"), grow(b, 2, "2")]);
    clock.now += ttl - 1;
    expect(await take(storage, d, "4"), "both were extended").toMatchObject(full);
  },

  "limits: many that ask at the same time get no more leases than slots": async (subject) => {
    const { storage } = subject;
    const other = await subject.second();
    const runs: RunHead[] = [];
    for (let n = 0; n < 12; n++) runs.push(await slotted(subject));
    const replies = await Promise.all(runs.map((run, n) => take(n % 2 === 0 ? storage : other, run, `${n}`)));
    const won = replies.filter((reply) => (reply as { full?: true } | null)?.full !== true);
    expect(won).toHaveLength(2);
  },
};

const claiming: Checks = {
  "limits: claim takes as many runs of a slot as are free": async (subject) => {
    const { storage } = subject;
    const driven = await slotted(subject);
    await take(storage, driven, "1");
    const a = await slotted(subject);
    await slotted(subject);
    const b = [await slotted(subject, "b"), await slotted(subject, "b"), await slotted(subject, "b")];
    const unlimited = [await subject.create(), await subject.create({ workflow: "mail" })];
    const taken = await claimed(subject);
    expect(taken.toSorted()).toEqual(
      [a, ...b.slice(0, 2), ...unlimited].map(({ locator }) => locator).toSorted(),
    );
    expect(await claimed(subject), "claimed runs count").toEqual([]);
    subject.clock.now += quietMs;
    expect(await claimed(subject), "until their claims end").toHaveLength(5);
  },

  "limits: claim passes over runs that have no free slot": async (subject) => {
    const { storage } = subject;
    for (const owner of ["1", "2"]) await take(storage, await slotted(subject), owner);
    for (let n = 0; n < 20; n++) await slotted(subject);
    const b = await slotted(subject, "b");
    expect(await claimed(subject, 3)).toEqual([b.locator]);
  },

  "limits: claim takes a run that was claimed and found no slot, once there is one": async (subject) => {
    const { storage } = subject;
    const [a, b] = [await slotted(subject), await slotted(subject)];
    expect(await claimed(subject)).toHaveLength(2);
    const others = [await slotted(subject), await slotted(subject)];
    for (const [n, run] of others.entries()) expect(await take(storage, run, `${n}`)).toMatchObject(granted);
    expect(await take(storage, a, "5")).toMatchObject(full);
    await storage.release(others[0]?.locator ?? "", "0");
    await storage.release(others[1]?.locator ?? "", "1", 60_000);
    // The claim of b still counts.
    expect(await claimed(subject)).toHaveLength(1);
    expect(await take(storage, b, "6")).toMatchObject(granted);
  },

  "limits: slots are counted": async (subject) => {
    const { storage, limits } = subject;
    await take(storage, await slotted(subject), "1");
    await slotted(subject);
    await slotted(subject, "b", { wakeAt: subject.clock.now + 1_000 });
    await slotted(subject, "c", { workflow: "mail" });
    expect(await limits.slots()).toEqual([
      { workflow: "loan", slot: "a", taken: 1, waiting: 1 },
      { workflow: "mail", slot: "c", taken: 0, waiting: 1 },
    ]);
  },
};

const texts: Checks = {
  "limits: a text is replaced only by those that know it": async (subject) => {
    const { limits, clock } = subject;
    expect(await limits.read("a")).toEqual({ value: null, now: clock.now });
    expect(await limits.swap("a", "x", "y", 1_000)).toBe(false);
    expect(await limits.swap("a", null, "one", 1_000)).toBe(true);
    expect(await limits.swap("a", null, "two", 1_000)).toBe(false);
    expect(await limits.swap("a", "one", "it's 2", 1_000)).toBe(true);
    expect(await limits.swap("a b", null, "", 1_000)).toBe(true);
    expect((await limits.read("a")).value).toBe("it's 2");
    expect((await limits.read("a b")).value).toBe("");
    expect(await limits.texts("a")).toEqual([
      { name: "a", value: "it's 2" },
      { name: "a b", value: "" },
    ]);
    expect(await limits.texts("a ")).toEqual([{ name: "a b", value: "" }]);
    expect(await limits.texts("%")).toEqual([]);
  },

  "limits: a text that need not be durable is set whatever it was, and ends by its time": async (subject) => {
    const { limits, clock } = subject;
    if (limits?.put === undefined) return;
    await limits.put("seen it's", "one", 1_000);
    await limits.put("seen it's", "two", 1_000);
    expect(await limits.texts("seen")).toEqual([{ name: "seen it's", value: "two" }]);
    expect(await limits.swap("seen it's", "two", "three", 1_000)).toBe(true);
    clock.now += 1_001;
    expect(await limits.texts("seen")).toEqual([]);
    await limits.put("seen it's", "four", 1_000);
    expect((await limits.read("seen it's")).value).toBe("four");
  },

  "limits: a text ends by its time": async (subject) => {
    const { limits, clock } = subject;
    await limits.swap("a", null, "one", 1_000);
    clock.now += 1_000;
    expect((await limits.read("a")).value).toBeNull();
    expect(await limits.swap("a", "one", "two", 1_000)).toBe(false);
    expect(await limits.swap("a", null, "three", 1_000)).toBe(true);
    expect(await limits.texts("")).toEqual([{ name: "a", value: "three" }]);
  },

  "limits: of many that change a text, one wins": async (subject) => {
    const { limits } = subject;
    const other = (await subject.second()).limits ?? limits;
    for (const before of [null, "0"]) {
      const swaps = Array.from({ length: 10 }, (_, n) =>
        (n % 2 === 0 ? limits : other).swap("a", before, before === null ? "0" : `${n + 1}`, 1_000),
      );
      expect((await Promise.all(swaps)).filter((won) => won)).toHaveLength(1);
    }
  },
};

export const limitChecks: Checks = { ...leasing, ...claiming, ...singletonChecks, ...texts };
