import type { RunHead } from "@durable/core";
import { MemoryBucket, type RemoteStorage, type Bucket } from "@durable/core/remote";
import type { NamedBlob } from "@durable/core/storage";
import { countingBucket } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { fuzzChapters } from "./support/chapters-fuzz.ts";
import { batchOf, createLong, dying, headOf, keysOf, remote } from "./support/remote.ts";

/** Appends chapters of so many batches each; every chapter names the blob "carried" again. */
async function chapters(
  storage: RemoteStorage,
  { count, size = 3, head = headOf() }: { count: number; size?: number; head?: RunHead },
): Promise<RunHead> {
  let last = head;
  for (let position = 0; position < count * size; position++) {
    const begins = position % size === 0;
    if (begins && position > 0) last = { ...last, chapter: position };
    const carried: NamedBlob = position === 0 ? { name: "carried", body: "its body" } : { name: "carried" };
    const own: NamedBlob = { name: `own ${position}`, body: `private ${position}.` };
    await storage.append({ ...batchOf(last, position), blobs: begins ? [carried, own] : [own] });
  }
  return last;
}

/** What a process without a cache asks the bucket for. */
async function cold(
  bucket: MemoryBucket,
  work: (storage: RemoteStorage) => Promise<unknown>,
): Promise<{ gets: number; lists: number; puts: number }> {
  const counting = countingBucket(bucket);
  await work(remote(counting, { now: 500_000 }));
  return counting.counts;
}

describe("the cost of a chapter", () => {
  test("reading it takes as many requests after a hundred chapters as after two", async () => {
    for (const dropped of [false, true]) {
      const gets: number[] = [];
      for (const count of [2, 10, 100]) {
        const bucket = new MemoryBucket();
        const storage = remote(bucket);
        const head = await chapters(storage, { count });
        if (dropped) await storage.dropChapters(head.locator, head.chapter ?? 0);
        const { gets: asked } = await cold(bucket, async (reader) => {
          const { batches, from, blobs } = await reader.readChapter(head.locator);
          expect([batches.length, from]).toEqual([3, (count - 1) * 3]);
          expect(Object.keys(blobs ?? {})).toHaveLength(4);
          expect(blobs).toMatchObject({ carried: "its body" });
        });
        gets.push(asked);
      }
      expect(new Set(gets).size, `${gets.join()} requests`).toBe(1);
      // The snapshot of the chapter, its two other slots, six that are tried at once, the first slot, and where it leads.
      expect(gets[0]).toBeLessThanOrEqual(dropped ? 10 : 9);
    }
  });

  test("a run that parked is read with four requests, however many of its chapters were dropped", async () => {
    for (const count of [2, 40]) {
      const bucket = new MemoryBucket();
      const storage = remote(bucket);
      let head = headOf();
      for (let position = 0; position < count * 3; position++) {
        if (position > 0 && position % 3 === 0) {
          head = { ...head, chapter: position };
          await storage.append(batchOf(head, position));
          await storage.dropChapters(head.locator, position);
        } else await storage.append(batchOf(head, position));
      }
      await storage.append(batchOf({ ...head, status: "suspended", wakeAt: null }, count * 3));
      const { gets } = await cold(bucket, (reader) => reader.readChapter(head.locator));
      expect(gets).toBe(4);
    }
  });

  test("a chapter is read without its snapshot, too, and so are those before", async () => {
    const bucket = new MemoryBucket();
    const head = await chapters(remote(bucket), { count: 5 });
    await bucket.delete([`snapshots/${head.locator}`]);
    const reader = remote(bucket);
    expect(await reader.readChapter(head.locator)).toMatchObject({ from: 12, length: 15 });
    const { batches, blobs } = await reader.read(head.locator, 4);
    expect(batches).toEqual(Array.from({ length: 11 }, (_, n) => `${head.runId} ${n + 4}`));
    expect(Object.keys(blobs ?? {})).toHaveLength(12);
  });

  test("snapshots of long runs stay as small as their chapter", async () => {
    const written: number[] = [];
    for (const count of [10, 100]) {
      const counting = countingBucket(new MemoryBucket());
      await chapters(remote(counting), { count });
      written.push(counting.counts.written / count);
    }
    expect((written[1] ?? 0) / (written[0] ?? 1)).toBeLessThan(1.2);
  });
});

describe("dropping chapters", () => {
  test("leaves nothing of them in the bucket once every process must know", async () => {
    for (const age of [0, 60_000]) {
      const bucket = new MemoryBucket();
      const head = await chapters(remote(bucket), { count: 4 });
      await remote(bucket, { now: 5_000 + age }).dropChapters(head.locator, 6);
      const slots = await keysOf(bucket, `runs/${head.locator}/`);
      expect(slots).toHaveLength(age === 0 ? 13 : 8);
      const texts = await Promise.all((await keysOf(bucket, "")).map((key) => bucket.get(key)));
      const left = texts.join("\n");
      for (let position = 0; position < 6; position++) expect(left).not.toContain(`private ${position}.`);
      for (let position = 6; position < 12; position++) expect(left).toContain(`private ${position}.`);
      // What was emptied goes with the next drop.
      await remote(bucket, { now: 90_000 }).dropChapters(head.locator, 9);
      expect(
        await keysOf(bucket, `runs/${head.locator}/`),
        "two ways on, three batches, two drops",
      ).toHaveLength(7);
    }
  });

  test("whoever begins at the first slot is sent on before any slot is removed", async () => {
    const bucket = new MemoryBucket();
    const head = await chapters(remote(bucket), { count: 3 });
    const slots = await keysOf(bucket, `runs/${head.locator}/`);
    const writes: string[] = [];
    const noting: Bucket = {
      get: (key) => bucket.get(key),
      list: (query) => bucket.list(query),
      create: (key, text) => bucket.create(key, text),
      put: (key, text) => {
        writes.push(`put ${slots.indexOf(key)}`);
        return bucket.put(key, text);
      },
      delete: (keys) => {
        for (const key of keys) if (slots.includes(key)) writes.push(`delete ${slots.indexOf(key)}`);
        return bucket.delete(keys);
      },
    };
    await remote(noting, { now: 70_000 }).dropChapters(head.locator, 3);
    const removed = writes.findIndex((write) => write.startsWith("delete "));
    expect(removed).toBeGreaterThan(0);
    expect(writes.slice(0, removed)).toContain("put 0");
  });

  test("a process that dies at any write of it leaves all or what was to be left, and others finish", async () => {
    let deaths = 0;
    for (let writes = 0, now = 5_000; ; writes++) {
      const bucket = new MemoryBucket();
      const head = await chapters(remote(bucket), { count: 3 });
      const mortal = dying(bucket, writes);
      const dropping = remote(mortal.bucket, { now }).dropChapters(head.locator, 3);
      const died = await Promise.race([dropping.then(() => false), mortal.died.then(() => true)]);
      const other = remote(bucket, { now });
      const { from = 0, batches, length } = await other.read(head.locator);
      expect([batches.length, length], `died at write ${writes}`).toEqual([9 - from, 9]);
      expect((await remote(bucket).list()).runs).toEqual([{ ...head, driven: false }]);
      await other.append(batchOf(head, 9));
      await other.dropChapters(head.locator, 6);
      expect(await remote(bucket).read(head.locator)).toMatchObject({ length: 10, from: 6 });
      await remote(bucket, { now: 140_000 }).rebuild();
      expect(await remote(bucket).read(head.locator)).toMatchObject({ length: 10, from: 6 });
      const texts = await Promise.all((await keysOf(bucket, "")).map((key) => bucket.get(key)));
      for (let position = 0; position < 6; position++)
        expect(texts.join("\n"), `died at write ${writes}`).not.toContain(`private ${position}.`);
      if (died) deaths += 1;
      else if (now > 5_000) break;
      // Once more, when every process must know: slots are deleted then, not emptied.
      else [writes, now] = [-1, 70_000];
    }
    expect(deaths).toBeGreaterThan(10);
  });

  test("H16 a writer that slept is not acknowledged where slots were dropped", async () => {
    for (const [slept, settled] of [
      [0, false],
      [70_000, true],
      [70_000, false],
    ] as const) {
      const bucket = new MemoryBucket();
      const clock = { now: 5_000 };
      const [sleeper, active] = [remote(bucket, clock), remote(bucket, clock)];
      const head = headOf();
      for (const position of [0, 1, 2]) await sleeper.append(batchOf(head, position));
      for (const position of [3, 4]) await active.append(batchOf(head, position));
      if (settled) clock.now += slept;
      const next = { ...head, chapter: 5 };
      for (const position of [5, 6]) await active.append(batchOf(next, position));
      if (settled) clock.now += slept;
      await active.dropChapters(head.locator, 5);
      if (!settled) clock.now += slept;
      await expect(sleeper.append(batchOf(head, 3, "late"))).rejects.toMatchObject({ code: "conflict" });
      expect(await sleeper.lease(head.locator, "sleeper", 1_000)).toEqual({ starts: 1, length: 7 });
      expect(await remote(bucket, clock).read(head.locator)).toMatchObject({
        batches: [`${head.runId} 5`, `${head.runId} 6`],
        length: 7,
        from: 5,
      });
      const texts = await Promise.all((await keysOf(bucket, "runs/")).map((key) => bucket.get(key)));
      expect(texts.join("\n")).not.toContain("late");
      await sleeper.append(batchOf(next, 7));
      expect((await remote(bucket, clock).read(head.locator)).length).toBe(8);
    }
  });

  test("a drop of a run that is deleted meanwhile leaves the next run of its id whole", async () => {
    const bucket = new MemoryBucket();
    const head = await chapters(remote(bucket), { count: 3 });
    const reborn = headOf({ locator: head.locator, createdAt: head.createdAt + 1 });
    let deleted = false;
    const dropping = remote({
      get: (key) => bucket.get(key),
      put: (key, text) => bucket.put(key, text),
      list: (query) => bucket.list(query),
      delete: (keys) => bucket.delete(keys),
      create: async (key, text) => {
        // The slot at which the chapter begins is known, and its record is about to be written.
        if (key.startsWith("runs/") && !deleted) {
          deleted = true;
          await remote(bucket).delete(head.locator);
          await createLong(remote(bucket), 5, reborn);
        }
        return bucket.create(key, text);
      },
    });
    const dropped = dropping.dropChapters(head.locator, 3);
    await expect(dropped).rejects.toMatchObject({ code: "invalid-options" });
    expect(deleted).toBe(true);
    const reply = await remote(bucket).read(head.locator);
    expect(reply).toMatchObject({ length: 5, head: { createdAt: reborn.createdAt } });
    expect([reply.batches.length, reply.from]).toEqual([5, undefined]);
  });

  test("random chapters, drops, deaths and late requests: every reader reads what was kept", async () => {
    const happened: Record<string, number> = {};
    const seeds = inject("full") ? 120 : 8;
    for (let seed = 1; seed <= seeds; seed++) {
      const fuzz = await fuzzChapters(seed, 120);
      expect(fuzz.violations).toEqual([]);
      for (const [what, times] of Object.entries(fuzz.happened))
        happened[what] = (happened[what] ?? 0) + times;
    }
    for (const [what, least] of Object.entries({ appended: 60, dropped: 8, late: 15, died: 2, conflict: 5 }))
      expect(happened[what], what).toBeGreaterThan(least * seeds);
  }, 300_000);
});

describe("blobs and chapters", () => {
  test("a chapter may name a blob of any earlier chapter without its body, also in another process", async () => {
    const bucket = new MemoryBucket();
    const head = await chapters(remote(bucket), { count: 4 });
    for (const name of ["own 1", "own 7"]) {
      const storage = remote(bucket);
      const { length } = await storage.read(head.locator);
      await storage.append({ ...batchOf(head, length), blobs: [{ name }] });
      expect((await remote(bucket).readChapter(head.locator)).blobs).toMatchObject({
        [name]: `${name.replace("own", "private")}.`,
      });
    }
    await remote(bucket).dropChapters(head.locator, 9);
    const { blobs } = await remote(bucket).read(head.locator);
    expect(blobs).toMatchObject({ "own 1": "private 1.", "own 7": "private 7.", carried: "its body" });
    expect(blobs).not.toHaveProperty("own 2");
  });

  test("a fork finds a blob of its parent in whichever chapter it is, when the parent has gone on", async () => {
    const bucket = new MemoryBucket();
    const storage = remote(bucket);
    const parent = await chapters(storage, { count: 3 });
    const fork = headOf({ parent: parent.runId, ancestors: [parent.locator], readsFrom: [3] });
    const blobs = ["own 4", "own 8", "carried"].map((name) => ({ name }));
    await remote(bucket).append({ ...batchOf(fork, 0), blobs });
    const expected = { "own 4": "private 4.", "own 8": "private 8.", carried: "its body" };
    expect((await remote(bucket).read(fork.locator)).blobs).toEqual(expected);
    for (const chapter of [9, 10, 11]) await storage.append(batchOf({ ...parent, chapter }, chapter));
    await storage.dropChapters(parent.locator, 3);
    expect((await remote(bucket).read(fork.locator)).blobs).toEqual(expected);
    await expect(storage.dropChapters(parent.locator, 6)).rejects.toMatchObject({ code: "conflict" });
    await storage.delete(parent.locator);
    expect((await remote(bucket).read(fork.locator)).blobs).toEqual(expected);
    const missing = { ...batchOf(fork, 1), blobs: [{ name: "own 1" }] };
    await expect(remote(bucket).append(missing)).rejects.toMatchObject({ code: "storage-failed" });
  });
});
