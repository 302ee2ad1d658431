/** What a look for due runs asks of a bucket with many running runs: requests in proportion to what is due. */

import { MemoryBucket, type RemoteStorage } from "@durable/core/remote";
import { countingBucket } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { batchOf, headOf, keysOf, remote } from "./support/remote.ts";

const running = inject("full") ? 10_000 : 1_500;
const ttlMs = 30_000;

interface Clock {
  now: number;
}

/** Runs that drivers hold. */
async function hold(writer: RemoteStorage, { now }: Clock, count: number): Promise<string[]> {
  const heads = Array.from({ length: count }, () => headOf({ dueSince: now }));
  for (const head of heads) await writer.append({ ...batchOf(head, 0), lease: { owner: "a", ttlMs } });
  return heads.map(({ locator }) => locator);
}

/** Index objects of runs that have ended since, as an interrupted process leaves them. */
async function leave(bucket: MemoryBucket, clock: Clock, count: number): Promise<void> {
  const writer = remote(bucket, clock);
  for (let n = 0; n < count; n++) {
    const head = headOf();
    await writer.append(batchOf(head, 0));
    const key = (await keysOf(bucket, "index/running/")).find((one) => one.includes(`.${head.locator}.`));
    await writer.append(batchOf({ ...head, status: "completed", wakeAt: null, dueSince: null }, 1));
    await bucket.create(key ?? "", "");
  }
}

/** A whole look in a process of its own, page by page: what it found, and its requests. */
async function look(bucket: MemoryBucket, clock: Clock) {
  const counting = countingBucket(bucket);
  const storage = remote(counting, clock);
  const found: string[] = [];
  for (let cursor: string | null = null; ;) {
    const { runs, next } = await storage.list({ dueAt: clock.now, limit: 100, cursor });
    found.push(...runs.map(({ locator }) => locator));
    if (next === null) break;
    cursor = next;
  }
  const { gets, lists, puts, deletes } = counting.counts;
  return { found: found.toSorted(), gets, lists, puts, deletes };
}

describe(`due runs beside ${running} that are driven`, () => {
  test("cost two reads each, whatever else runs; leftovers are paid for once", async () => {
    const [bucket, clock] = [new MemoryBucket(), { now: 5_000 }];
    await leave(bucket, clock, 50);
    const writer = remote(bucket, clock);
    await hold(writer, clock, running);
    const first = await look(bucket, clock);
    expect(first.found).toEqual([]);
    expect(first.gets).toBeLessThanOrEqual(4 * 50);
    expect(first.deletes).toBeLessThanOrEqual(1);
    // A request for each thousand markers, and one for timers.
    const lists = Math.ceil(running / 1_000) + 1;
    expect(await look(bucket, clock)).toMatchObject({ gets: 0, puts: 0, deletes: 0, lists });

    const due: string[] = [];
    for (const count of [10, 100]) {
      while (due.length < count) {
        const head = headOf();
        await writer.append(batchOf(head, 0));
        due.push(head.locator);
      }
      const { found, gets, puts } = await look(bucket, clock);
      expect(found).toEqual(due.toSorted());
      expect(gets).toBeLessThanOrEqual(2 * count + 1);
      expect(puts).toBe(0);
    }
  }, 300_000);

  test("dead drivers are found after their lease, and who takes over is left alone again", async () => {
    const [bucket, clock] = [new MemoryBucket(), { now: 5_000 }];
    const writer = remote(bucket, clock);
    const dead = await hold(writer, clock, 40);
    clock.now += ttlMs - 1;
    await hold(writer, clock, running);
    expect(await look(bucket, clock)).toMatchObject({ found: [], gets: 0 });
    clock.now += 1;
    const { found, gets } = await look(bucket, clock);
    expect(found).toEqual(dead.toSorted());
    expect(gets).toBeLessThanOrEqual(2 * dead.length + 1);
    const next = remote(bucket, clock);
    for (const locator of dead) expect(await next.lease(locator, "b", ttlMs)).not.toBeNull();
    expect(await look(bucket, clock)).toMatchObject({ found: [], gets: 0 });
  }, 300_000);
});

describe("clocks that differ by less than a lease", () => {
  test.each([-20_000, 20_000])(
    "%i ms: driven runs are not due, and those of dead drivers are found",
    async (away) => {
      const [bucket, clock] = [new MemoryBucket(), { now: 50_000 }];
      const theirs = { now: clock.now };
      const writer = remote(bucket, theirs);
      const [alive, dead] = [await hold(writer, theirs, 20), await hold(writer, theirs, 20)];
      const due: string[] = [];
      const from = clock.now;
      for (let at = 0; at <= 3 * ttlMs; at += ttlMs / 6) {
        [clock.now, theirs.now] = [from + at + away, from + at];
        // The drivers that live renew in time.
        for (const locator of alive) expect(await writer.lease(locator, "a", ttlMs)).not.toBeNull();
        const { found } = await look(bucket, clock);
        expect(found.filter((locator) => alive.includes(locator))).toEqual([]);
        if (found.length > 0) due.push(`${at}`);
        // Never before the lease has ended for who looks, and at once when it has.
        expect(found, `after ${at} ms`).toEqual(at + away >= ttlMs ? dead.toSorted() : []);
      }
      expect(due.length).toBeGreaterThan(0);
    },
  );
});
