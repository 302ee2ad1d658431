/**
 * `dropChapters`: removes the batches before a chapter, and the blobs that only they named, unless a fork reads
 * them. Proven in test/conformance.test.ts.
 */

import { expect } from "vitest";
import { blobsOf, createNaming, isKept, naming } from "./blobs.ts";
import { a, b, c, createChapters, createFork, createWithBlobs, only, texts } from "./chapters.ts";
import { headOf, refused, request, type Checks } from "./subject.ts";

const dropped: Checks = {
  "dropChapters removes what is before, and read says where the rest begins": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const { storage } = subject;
    const head = await createChapters(subject, 9, [3, 6]);
    const other = await createChapters(subject, 4, [3]);
    await dropChapters(head.locator, 3);
    for (const from of [0, 1, 2])
      expect(await storage.read(head.locator, from)).toMatchObject({
        batches: texts(3, 9),
        length: 9,
        from: 3,
      });
    for (const from of [3, 5, 8, 9, 20]) {
      const reply = await storage.read(head.locator, from);
      expect(reply).toMatchObject({ batches: texts(Math.min(from, 9), 9), length: 9 });
      expect(reply.from, `from ${from}`).toBeUndefined();
    }
    expect(await storage.read(other.locator)).toMatchObject({ batches: texts(0, 4), length: 4 });
    expect((await subject.list()).runs).toEqual([other, head]);
    expect(await subject.due()).toEqual([head.locator, other.locator]);
    expect(await storage.readChapter?.(head.locator)).toMatchObject({ batches: texts(6, 9), from: 6 });
  },

  "dropChapters does not move the end of the journal": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const { storage } = subject;
    const head = await createChapters(subject, 5, [2]);
    await dropChapters(head.locator, 2);
    expect(await storage.lease(head.locator, "a", 1_000)).toEqual({ starts: 1, length: 5 });
    for (const position of [2, 3, 4, 6]) await refused(storage.append(request(head, position)), "conflict");
    await storage.append(request({ ...head, status: "suspended", wakeAt: null }, 5, null));
    expect(await storage.read(head.locator)).toMatchObject({ batches: texts(2, 6), length: 6, from: 2 });
    expect(await subject.locators({ status: "suspended" })).toEqual([head.locator]);
    for (const [position, chapter] of [6, 6, 8].entries())
      await storage.append(request({ ...head, chapter }, position + 6));
    await dropChapters(head.locator, 8);
    expect(await storage.read(head.locator)).toMatchObject({ batches: texts(8, 9), length: 9, from: 8 });
    expect(await storage.lease(head.locator, "b", 1_000)).toEqual({ starts: 1, length: 9 });
  },

  "dropChapters leaves note and lease alone": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const note = subject.optional("note");
    const { storage } = subject;
    const head = await createChapters(subject, 5, [2]);
    await storage.lease(head.locator, "a", 1_000);
    const blocked = { code: "diverged", message: "changed", since: 1, length: 5 };
    await note(head.locator, blocked);
    await dropChapters(head.locator, 2);
    expect((await storage.read(head.locator, 2)).blocked).toEqual(blocked);
    expect(await subject.locators({ status: "blocked" })).toEqual([head.locator]);
    expect(await storage.lease(head.locator, "b", 1_000)).toBeNull();
    expect(await storage.lease(head.locator, "a", 1_000)).toEqual({ starts: 1, length: 5, blocked });
    subject.clock.now += 1_000;
    expect(await storage.lease(head.locator, "b", 1_000), "starts are counted on").toMatchObject({
      starts: 2,
      length: 5,
    });
  },

  "dropChapters twice, of nothing, or of an unknown run does nothing": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const head = await createChapters(subject, 7, [2, 4]);
    await dropChapters("nobodynobodynobody", 3);
    await dropChapters(head.locator, 0);
    expect(await subject.storage.read(head.locator)).toMatchObject({ batches: texts(0, 7), length: 7 });
    for (const before of [4, 4, 2, 0]) {
      await dropChapters(head.locator, before);
      expect(await subject.storage.read(head.locator)).toMatchObject({ batches: texts(4, 7), from: 4 });
    }
    await subject.storage.delete(head.locator);
    await dropChapters(head.locator, 4);
    expect(await subject.storage.read(head.locator)).toMatchObject({ batches: [], length: 0 });
  },

  "dropChapters refuses a position at which no chapter begins": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const head = await createChapters(subject, 7, [3, 5]);
    for (const before of [1, 2, 4, 6, 7, 8]) {
      await refused(dropChapters(head.locator, before), "invalid-options");
      expect(await subject.storage.read(head.locator)).toMatchObject({ batches: texts(0, 7), length: 7 });
    }
    const plain = await subject.createLong(3);
    await refused(dropChapters(plain.locator, 1), "invalid-options");
  },

  "dropChapters frees the blobs that only dropped batches named": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const { storage } = subject;
    const head = await createWithBlobs(subject);
    await dropChapters(head.locator, 2);
    expect(await blobsOf(storage, head), "all are named again").toEqual(only("a", "b", "c"));
    expect(await blobsOf(storage, head, 3)).toEqual(only("b", "c"));
    const other = await createNaming(subject, [b]);
    await dropChapters(head.locator, 4);
    expect(await blobsOf(storage, head)).toEqual(only("c"));
    expect(await isKept(subject, "blob-a")).toBe(false);
    expect(await blobsOf(storage, other), "another run names it").toEqual(only("b"));
    await refused(storage.append(naming(head, 6, [{ name: "blob-a" }])), "storage-failed");
    await storage.append(naming(head, 6, [a, { name: "blob-c" }]));
    expect(await blobsOf(storage, head)).toEqual(only("a", "c"));
    await storage.delete(head.locator);
    for (const { name } of [a, c]) expect(await isKept(subject, name), `${name} is kept`).toBe(false);
  },

  "dropChapters is seen by a second handle that knew the run": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const second = await subject.second();
    const head = await createChapters(subject, 6, [2, 4]);
    expect(await second.read(head.locator)).toMatchObject({ batches: texts(0, 6), length: 6 });
    await dropChapters(head.locator, 4);
    expect(await second.read(head.locator)).toMatchObject({ batches: texts(4, 6), length: 6, from: 4 });
    await second.append(request(head, 6));
    expect(await subject.storage.read(head.locator)).toMatchObject({ batches: texts(4, 7), length: 7 });
    await second.delete(head.locator);
    expect(await subject.storage.read(head.locator)).toMatchObject({ batches: [], length: 0 });
  },
};

const forked: Checks = {
  "dropChapters refuses while a fork reads the batches, and changes nothing": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const { storage } = subject;
    const parent = await createChapters(subject, 8, [2, 4, 6]);
    const whole = await createFork(subject, parent);
    const late = await createFork(subject, parent, 4);
    const below = await subject.create({
      ancestors: [late.locator, parent.locator],
      readsFrom: [0, 4],
    });
    await refused(dropChapters(parent.locator, 2), "conflict");
    expect(await storage.read(parent.locator)).toMatchObject({ batches: texts(0, 8), length: 8 });
    await storage.delete(whole.locator);
    await dropChapters(parent.locator, 4);
    await refused(dropChapters(parent.locator, 6), "conflict");
    await storage.delete(late.locator);
    await refused(dropChapters(parent.locator, 6), "conflict");
    expect(await storage.read(parent.locator, 4)).toMatchObject({ batches: texts(4, 8), length: 8 });
    await storage.delete(below.locator);
    await dropChapters(parent.locator, 6);
    expect(await storage.read(parent.locator)).toMatchObject({ batches: texts(6, 8), from: 6 });
  },

  "a new fork that reads dropped batches is refused": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const parent = await createChapters(subject, 6, [2, 4]);
    await dropChapters(parent.locator, 4);
    for (const from of [undefined, 0, 2])
      await expect(createFork(subject, parent, from)).rejects.toMatchObject({
        code: "conflict",
        details: { deleted: true },
      });
    expect(await subject.locators()).toEqual([parent.locator]);
    const fork = await createFork(subject, parent, 4);
    await subject.storage.delete(parent.locator);
    expect(await subject.storage.read(parent.locator)).toMatchObject({
      batches: texts(4, 6),
      length: 6,
      from: 4,
      deleted: true,
    });
    await subject.storage.delete(fork.locator);
    expect(await subject.storage.read(parent.locator)).toMatchObject({ batches: [], length: 0 });
  },

  "dropChapters and a fork of what it drops at the same time: one of them is refused": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const second = await subject.second();
    for (let n = 0; n < 10; n++) {
      const parent = await createChapters(subject, 4, [2]);
      const head = headOf(subject.clock.now, { parent: parent.runId, ancestors: [parent.locator] });
      const [drop, fork] = await Promise.allSettled([
        dropChapters(parent.locator, 2),
        second.append(request(head, 0)),
      ]);
      expect([drop.status, fork.status].toSorted()).toEqual(["fulfilled", "rejected"]);
      const { batches } = await subject.storage.read(parent.locator);
      expect(batches).toEqual(drop.status === "fulfilled" ? texts(2, 4) : texts(0, 4));
    }
  },

  "dropChapters and appends at the same time are all done": async (subject) => {
    const dropChapters = subject.optional("dropChapters");
    const second = await subject.second();
    let head = await createChapters(subject, 2, [1]);
    for (let length = 2; length < 26; length += 2) {
      const next = { ...head, chapter: length };
      const drop = dropChapters(head.locator, head.chapter ?? 0);
      for (const position of [length, length + 1]) await second.append(request(next, position));
      await drop;
      const { batches, from } = await subject.storage.read(head.locator);
      expect([from, batches]).toEqual([head.chapter, texts(head.chapter ?? 0, length + 2)]);
      head = next;
    }
  },

  "delete removes a run with dropped chapters, and leaves nothing for a new run of the id (H17)": async (
    subject,
  ) => {
    const dropChapters = subject.optional("dropChapters");
    const { storage, clock } = subject;
    const old = await createWithBlobs(subject);
    await dropChapters(old.locator, 4);
    await storage.delete(old.locator);
    const { chapter: _, ...rest } = old;
    const fresh = { ...rest, createdAt: (clock.now += 1) };
    await storage.append(request(fresh, 0));
    await storage.append(naming(fresh, 1, [a]));
    const reply = await storage.read(old.locator);
    expect(reply).toMatchObject({ batches: texts(0, 2), length: 2, blobs: only("a") });
    expect(reply.from).toBeUndefined();
    expect(await storage.readChapter?.(old.locator)).toMatchObject({ batches: texts(0, 2), from: 0 });
    expect((await subject.list()).runs).toEqual([fresh]);
    await refused(dropChapters(old.locator, 4), "invalid-options");
  },
};

export const dropChecks: Checks = { ...dropped, ...forked };
