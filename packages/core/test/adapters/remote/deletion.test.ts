import { DurableError, type RunHead } from "@durable/core";
import { MemoryBucket } from "@durable/core/remote";
import { describe, expect, test } from "vitest";
import { batchOf, createLong, dying, headOf, keysOf, remote } from "./support/remote.ts";

/** A bucket with a run of five batches, one of which names a blob, and a snapshot of four. */
async function bucketWithRun(
  changes: Partial<RunHead> = {},
): Promise<{ bucket: MemoryBucket; head: RunHead }> {
  const bucket = new MemoryBucket();
  const storage = remote(bucket);
  const head = headOf(changes);
  await storage.append({ ...batchOf(head, 0), blobs: [{ name: "blob", body: "a body" }] });
  for (const position of [1, 2]) await storage.append(batchOf(head, position));
  await storage.append(batchOf({ ...head, status: "suspended", wakeAt: null }, 3));
  await storage.append(batchOf(head, 4));
  expect(await keysOf(bucket, "snapshots/")).toHaveLength(1);
  return { bucket, head };
}

describe("deletion", () => {
  test("leaves nothing but two small objects that name nobody, and a few more while somebody may not know", async () => {
    for (const [age, slots] of [
      [0, [0, 1, 2, 3, 4, 5]],
      [60_000, [0, 5]],
    ] as const) {
      const { bucket, head } = await bucketWithRun({ label: "private", runId: "someone@example.com" });
      await remote(bucket, { now: 5_000 + age }).delete(head.locator);
      const left = slots.map((slot) => `runs/${head.locator}/0/000000000${slot}`);
      expect(await keysOf(bucket, "")).toEqual(["layout", ...left]);
      for (const key of left) expect(await bucket.get(key)).not.toMatch(/private|someone|a body|id of/);
      await remote(bucket, { now: 65_000 }).rebuild();
      expect(await keysOf(bucket, "runs/")).toHaveLength(2);
    }
  });

  test("H17 whoever dies at any write of it leaves a run that is whole or gone, also for one that begins anew", async () => {
    let deaths = 0;
    for (let writes = 0; ; writes++) {
      const { bucket, head } = await bucketWithRun();
      const mortal = dying(bucket, writes);
      const deleting = remote(mortal.bucket).delete(head.locator);
      const died = await Promise.race([deleting.then(() => false), mortal.died.then(() => true)]);
      const other = remote(bucket);
      const { length, batches } = await other.read(head.locator);
      expect([batches.length, length], `died at write ${writes}`).toEqual(writes === 0 ? [5, 5] : [0, 0]);
      expect((await other.list()).runs).toHaveLength(writes === 0 ? 1 : 0);
      if (writes === 0) await other.delete(head.locator);
      const reborn = { ...head, createdAt: head.createdAt + 1 };
      const anew = remote(bucket);
      await anew.append(batchOf(reborn, 0, "reborn"));
      await anew.append(batchOf(reborn, 1, "reborn 1"));
      expect(await remote(bucket).read(head.locator)).toEqual({
        batches: ["reborn", "reborn 1"],
        length: 2,
        deleted: false,
        head: reborn,
        driven: false,
      });
      await remote(bucket, { now: 65_000 }).rebuild();
      const old = await keysOf(bucket, `runs/${head.locator}/0/`);
      expect(old.length, "the rest of the first life goes").toBeLessThanOrEqual(2);
      if (!died) break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(5);
  });

  test("a snapshot that comes too late brings nothing back", async () => {
    const { bucket, head } = await bucketWithRun();
    const key = `snapshots/${head.locator}`;
    const late = (await bucket.get(key))!;
    await remote(bucket).delete(head.locator);
    await bucket.put(key, late);
    expect(await remote(bucket).read(head.locator)).toMatchObject({ length: 0 });
    await remote(bucket).append(batchOf({ ...head, createdAt: 9_999 }, 0, "reborn"));
    expect((await remote(bucket).read(head.locator)).batches).toEqual(["reborn"]);
  });

  test("a snapshot of the first run that comes after the second began does not hide the second", async () => {
    for (const age of [0, 60_000]) {
      const { bucket, head } = await bucketWithRun();
      const key = `snapshots/${head.locator}`;
      await remote(bucket).append(batchOf({ ...head, status: "suspended", wakeAt: null }, 5));
      const late = (await bucket.get(key))!;
      expect(JSON.parse(late).slot, "all but the record that closes it").toBe(5);
      await remote(bucket, { now: 5_000 + age }).delete(head.locator);
      await remote(bucket).append(batchOf({ ...head, createdAt: 9_999 }, 0, "reborn"));
      await bucket.put(key, late);
      expect((await remote(bucket).read(head.locator)).batches).toEqual(["reborn"]);
      await remote(bucket).append(batchOf({ ...head, createdAt: 9_999 }, 1, "goes on"));
      expect((await remote(bucket).read(head.locator)).length).toBe(2);
    }
  });

  test("H16 a writer that slept is fenced, however little is left of the log it knew", async () => {
    for (const [behind, slept] of [
      [0, 0],
      [0, 60_000],
      [2, 0],
      [2, 60_000],
    ] as const) {
      const bucket = new MemoryBucket();
      const clock = { now: 5_000 };
      const [sleeper, active] = [remote(bucket, clock), remote(bucket, clock)];
      const head = await createLong(sleeper, 3);
      for (let more = 0; more < behind; more++) await active.append(batchOf(head, 3 + more));
      clock.now += slept;
      await active.delete(head.locator);
      const append = sleeper.append(batchOf(head, 3, "from the grave"));
      await expect(append, `${behind} behind`).rejects.toMatchObject({ code: "conflict" });
      expect(await remote(bucket).read(head.locator)).toMatchObject({ length: 0 });
      expect(await sleeper.read(head.locator)).toMatchObject({ length: 0 });
      expect(await sleeper.lease(head.locator, "sleeper", 1_000)).toBeNull();
    }
  });

  test("a slow deletion does not touch the run that has the id by then", async () => {
    const { bucket, head } = await bucketWithRun();
    const release = Promise.withResolvers<void>();
    const slow = remote({
      get: (key) => bucket.get(key),
      create: (key, text) => bucket.create(key, text),
      list: (query) => bucket.list(query),
      put: (key, text) => release.promise.then(() => bucket.put(key, text)),
      delete: (keys) => release.promise.then(() => bucket.delete(keys)),
    });
    const deleting = slow.delete(head.locator);
    while ((await remote(bucket).read(head.locator)).length > 0) await Promise.resolve();
    const reborn = { ...head, createdAt: head.createdAt + 1, status: "suspended" } as const;
    const anew = remote(bucket);
    for (const position of [0, 1, 2]) await anew.append(batchOf(reborn, position, `reborn ${position}`));
    release.resolve();
    await deleting;
    expect((await remote(bucket).read(head.locator)).batches).toEqual(["reborn 0", "reborn 1", "reborn 2"]);
    expect((await remote(bucket).list()).runs).toEqual([{ ...reborn, driven: false }]);
  });
});

describe("forks", () => {
  test("of all deaths while a fork is made and its parent deleted, none leaves a fork without its parent", async () => {
    let [deaths, refused] = [0, 0];
    for (let each = 0; each < 14 * 20; each++) {
      // Each way to die against each way to be late.
      const [writes, late] = [each % 14, Math.floor(each / 14) * 2];
      for (const first of ["fork", "parent"] as const) {
        const { bucket, head: parent } = await bucketWithRun();
        const fork = headOf({ parent: parent.runId, ancestors: [parent.locator] });
        const mortal = dying(bucket, writes);
        const other = remote(bucket);
        const make = (storage: typeof other) =>
          storage.append({ ...batchOf(fork, 0), blobs: [{ name: "blob" }] }).catch((error: unknown) => {
            if (!DurableError.is(error, "conflict")) throw error;
            refused += 1;
          });
        const [mine, theirs] =
          first === "fork"
            ? [() => make(remote(mortal.bucket)), () => other.delete(parent.locator)]
            : [() => remote(mortal.bucket).delete(parent.locator), () => make(other)];
        const work = mine().then(() => false);
        for (let turns = 0; turns < late; turns++) await Promise.resolve();
        await theirs();
        if (await Promise.race([work, mortal.died.then(() => true)])) deaths += 1;
        const witness = remote(bucket);
        if ((await witness.read(fork.locator)).length === 0) continue;
        expect(await witness.read(fork.locator)).toMatchObject({ length: 1, blobs: { blob: "a body" } });
        expect(await witness.read(parent.locator), `${first} died at write ${writes}`).toMatchObject({
          length: 5,
        });
      }
    }
    expect([deaths > 100, refused > 100]).toEqual([true, true]);
  });

  test("a fork is refused by whoever knows its parent as it was, and not that it has gone", async () => {
    for (const behind of [0, 1, 3]) {
      const bucket = new MemoryBucket();
      const [late, active] = [remote(bucket), remote(bucket)];
      const parent = await createLong(late, 3);
      for (let more = 0; more < behind; more++) await active.append(batchOf(parent, 3 + more));
      await active.delete(parent.locator);
      const fork = headOf({ parent: parent.runId, ancestors: [parent.locator] });
      const refused = { code: "conflict", details: { deleted: true } };
      await expect(late.append(batchOf(fork, 0)), `${behind} behind`).rejects.toMatchObject(refused);
      expect(await remote(bucket).read(fork.locator)).toMatchObject({ length: 0 });
    }
  });

  test("a fork is two writes and the index, whatever the length of its parent", async () => {
    const bucket = new MemoryBucket();
    const storage = remote(bucket);
    const parent = await createLong(storage, 300);
    const before = (await keysOf(bucket, "")).length;
    const fork = headOf({ parent: parent.runId, ancestors: [parent.locator] });
    await storage.append(batchOf(fork, 0));
    expect((await keysOf(bucket, "")).length - before).toBe(3);
    expect(await remote(bucket).read(parent.locator)).toMatchObject({ length: 300 });
    // The parent's driver does not notice: the fork's record is passed over.
    await storage.append(batchOf(parent, 300));
    await remote(bucket).append(batchOf(parent, 301));
    expect((await remote(bucket).read(parent.locator, 300)).batches).toHaveLength(2);
  });
});
