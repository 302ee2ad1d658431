/**
 * `delete`: hides the run at once. Batches stay while a fork reads them, and never appear in a new run (H17).
 * Proven in test/conformance.test.ts.
 */

import type { RunHead } from "@durable/core";
import { expect } from "vitest";
import { refused, request, text, type Checks, type Subject } from "./subject.ts";

const nothing = { batches: [], length: 0 };

/** A run that reads the batches of these, as a fork does. */
function createFork(subject: Subject, ancestors: readonly RunHead[]): Promise<RunHead> {
  return subject.create({
    parent: ancestors.at(-1)?.runId ?? null,
    ancestors: ancestors.map(({ locator }) => locator),
  });
}

async function lengths(subject: Subject, heads: readonly RunHead[]): Promise<number[]> {
  const read = await Promise.all(heads.map(({ locator }) => subject.storage.read(locator)));
  return read.map(({ batches, length }) => (batches.length === length ? length : -1));
}

export const deleteChecks: Checks = {
  "delete hides a run at once": async (subject) => {
    const { storage } = subject;
    const kept = await subject.create();
    const gone = await subject.createLong(3);
    await storage.delete(gone.locator);
    expect(await subject.locators()).toEqual([kept.locator]);
    expect(await subject.locators({ status: "running" })).toEqual([kept.locator]);
    expect(await subject.due()).toEqual([kept.locator]);
    expect(await storage.lease(gone.locator, "a", 1_000)).toBeNull();
    expect(await storage.read(gone.locator)).toMatchObject(nothing);
  },

  "delete is seen by a second handle": async (subject) => {
    const second = await subject.second();
    const head = await subject.create();
    await second.delete(head.locator);
    expect(await subject.locators()).toEqual([]);
    expect(await subject.storage.read(head.locator)).toMatchObject(nothing);
  },

  "delete of an unknown run, and deleting twice, do nothing": async (subject) => {
    const { storage } = subject;
    const head = await subject.create();
    await storage.delete("nobodynobodynobody");
    const fork = await createFork(subject, [head]);
    await storage.delete(head.locator);
    await storage.delete(head.locator);
    expect(await lengths(subject, [head, fork])).toEqual([1, 1]);
    expect(await subject.locators()).toEqual([fork.locator]);
  },

  "delete refuses the appends of a driver that does not know yet": async (subject) => {
    const { storage } = subject;
    const gone = await subject.createLong(2);
    const read = await subject.createLong(2);
    await createFork(subject, [read]);
    for (const head of [gone, read]) {
      await storage.lease(head.locator, "a", 60_000);
      await storage.delete(head.locator);
      await refused(storage.append(request(head, 2, { owner: "a", ttlMs: 60_000 })), "conflict");
      expect(await storage.lease(head.locator, "a", 60_000)).toBeNull();
      await storage.release(head.locator, "a");
    }
    expect(await lengths(subject, [gone, read])).toEqual([0, 2]);
  },

  "delete beats a fork that is made of the run at the same time": async (subject) => {
    const { storage } = subject;
    const parent = await subject.createLong(2);
    await storage.delete(parent.locator);
    await expect(createFork(subject, [parent])).rejects.toMatchObject({
      code: "conflict",
      details: { deleted: true },
    });
    expect(await subject.locators()).toEqual([]);
  },

  "delete keeps the batches that a fork reads, and their id": async (subject) => {
    const { storage } = subject;
    const parent = await subject.createLong(3);
    const fork = await createFork(subject, [parent]);
    await storage.delete(parent.locator);
    const batches = [text(0), text(1), text(2)];
    expect(await storage.read(parent.locator)).toMatchObject({ batches, length: 3, deleted: true });
    expect(await storage.read(parent.locator, 2)).toMatchObject({
      batches: [text(2)],
      length: 3,
      deleted: true,
    });
    for (const position of [0, 2, 3, 4])
      await expect(storage.append(request(parent, position))).rejects.toMatchObject({
        code: "conflict",
        details: { deleted: true },
      });
    expect(await subject.locators()).toEqual([fork.locator]);
    await storage.delete(fork.locator);
    expect(await lengths(subject, [parent, fork])).toEqual([0, 0]);
  },

  "delete keeps a parent until the last of its forks has gone": async (subject) => {
    const { storage } = subject;
    const parent = await subject.create();
    const one = await createFork(subject, [parent]);
    const two = await createFork(subject, [parent]);
    const three = await createFork(subject, [parent]);
    const all = [parent, one, two, three];
    await storage.delete(two.locator);
    await storage.delete(parent.locator);
    expect(await lengths(subject, all)).toEqual([1, 1, 0, 1]);
    await storage.delete(one.locator);
    expect(await lengths(subject, all)).toEqual([1, 0, 0, 1]);
    await storage.delete(three.locator);
    expect(await lengths(subject, all)).toEqual([0, 0, 0, 0]);
  },

  "delete frees a chain of forks from its end": async (subject) => {
    const { storage } = subject;
    const chain: RunHead[] = [];
    for (let depth = 0; depth < 5; depth++) chain.push(await createFork(subject, chain));
    const last = await createFork(subject, chain);
    for (const { locator } of chain) await storage.delete(locator);
    expect(await lengths(subject, [...chain, last])).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await subject.locators()).toEqual([last.locator]);
    await storage.delete(last.locator);
    expect(await lengths(subject, [...chain, last])).toEqual([0, 0, 0, 0, 0, 0]);
  },

  "delete in the middle of a chain frees nothing that is still read or wanted": async (subject) => {
    const { storage } = subject;
    const first = await subject.create();
    const middle = await createFork(subject, [first]);
    const last = await createFork(subject, [first, middle]);
    await storage.delete(middle.locator);
    expect(await lengths(subject, [first, middle, last])).toEqual([1, 1, 1]);
    await storage.delete(last.locator);
    expect(await lengths(subject, [first, middle, last])).toEqual([1, 0, 0]);
    expect(await subject.locators(), "the first was never deleted").toEqual([first.locator]);
  },

  "delete leaves nothing behind for a new run of the same id (H17)": async (subject) => {
    const { storage, clock } = subject;
    const old = await subject.createLong(5, { label: "old", steps: 5 });
    for (const owner of ["a", "b", "c"]) {
      await storage.lease(old.locator, owner, 1_000);
      clock.now += 1_000;
    }
    await storage.lease(old.locator, "d", 60_000);
    await storage.release(old.locator, "d", 60_000);
    await storage.delete(old.locator);
    const fresh = { ...old, label: null, steps: 0, createdAt: clock.now, updatedAt: clock.now };
    await storage.append({ ...request(fresh, 0), batch: "fresh" });
    const read = await storage.read(old.locator);
    expect(read).toMatchObject({ batches: ["fresh"], length: 1 });
    expect(read.deleted, "it is not hidden").not.toBe(true);
    expect(await storage.read(old.locator, 1)).toMatchObject({ batches: [], length: 1 });
    expect((await subject.list()).runs).toEqual([fresh]);
    expect(await subject.due(), "no quiet is left").toEqual([old.locator]);
    expect(await storage.lease(old.locator, "e", 1_000), "no starts are left").toEqual({
      starts: 1,
      length: 1,
    });
    await expect(storage.append(request(fresh, 5))).rejects.toMatchObject({ code: "conflict", details: {} });
  },

  "delete keeps a driver of the run that had this id before out of the new one (H17)": async (subject) => {
    const { storage, clock } = subject;
    const old = await subject.createLong(2);
    await storage.delete(old.locator);
    clock.now += 1;
    const reborn = { ...old, createdAt: old.createdAt + 1 };
    for (const position of [0, 1]) await storage.append(request(reborn, position));
    for (const lease of [undefined, null, { owner: "a", ttlMs: 1_000 }])
      await expect(storage.append(request(old, 2, lease))).rejects.toMatchObject({
        code: "conflict",
        details: { deleted: true },
      });
    await storage.append(request(reborn, 2));
    expect(await lengths(subject, [reborn])).toEqual([3]);
  },

  "delete of a second life does not remember the forks of the first": async (subject) => {
    const { storage } = subject;
    const old = await subject.create();
    const fork = await createFork(subject, [old]);
    await storage.delete(fork.locator);
    await storage.delete(old.locator);
    await storage.append(request(old, 0));
    await storage.delete(old.locator);
    expect(await lengths(subject, [old, fork])).toEqual([0, 0]);
  },
};
