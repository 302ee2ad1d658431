import { MemoryBucket } from "@durable/core/remote";
import type { BlockedNote } from "@durable/core/storage";
import { countingBucket } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { batchOf, headOf, keysOf, remote } from "./support/remote.ts";

const note: BlockedNote = { code: "diverged", message: "changed", since: 1, length: 1 };

describe("due runs of some workflows", () => {
  test("cost no read of a due run of another, and a list request for a thousand of them", async () => {
    const costs: number[] = [];
    for (const foreign of [0, 2_500]) {
      const bucket = new MemoryBucket();
      const writer = remote(bucket);
      for (let n = 0; n < foreign; n++) {
        const state = n % 2 === 0 ? {} : ({ status: "suspended", wakeAt: 100 } as const);
        await writer.append(batchOf(headOf({ workflow: `foreign ${n % 7}`, ...state }), 0));
      }
      const own: string[] = [];
      for (let n = 0; n < 10; n++) {
        const head = headOf({ workflow: `own ${n % 3}` });
        await writer.append(batchOf(head, 0));
        own.push(head.locator);
      }
      const counting = countingBucket(bucket);
      const { runs } = await remote(counting).list({
        dueAt: 5_000,
        workflow: ["own 0", "own 1", "own 2"],
      });
      expect(runs.map(({ locator }) => locator)).toEqual(own);
      costs.push(counting.counts.gets);
      expect(counting.counts.lists).toBeLessThanOrEqual(2 + Math.ceil(foreign / 1_000));
    }
    expect(costs[1], "as many reads with 2,500 others as with none").toBe(costs[0]);
  }, 300_000);
});

describe("notes and the index", () => {
  test("a note is two writes, and no more than it found is left when it is void", async () => {
    for (const end of ["append", "lease"] as const) {
      const bucket = new MemoryBucket();
      const counting = countingBucket(bucket);
      const storage = remote(counting);
      const head = headOf();
      await storage.append(batchOf(head, 0));
      const before = await keysOf(bucket, "index/");
      const { puts } = counting.counts;
      await storage.note(head.locator, note);
      expect(counting.counts.puts - puts).toBe(2);
      expect(await keysOf(bucket, "index/")).toHaveLength(2);
      if (end === "append") await storage.append(batchOf(head, 1));
      else await storage.lease(head.locator, "a", 1_000);
      expect(await keysOf(bucket, "index/")).toEqual(before);
    }
  });

  test("blocked runs are listed without reading the others", async () => {
    const bucket = new MemoryBucket();
    const writer = remote(bucket);
    for (let n = 0; n < 60; n++) await writer.append(batchOf(headOf(), 0));
    const head = headOf();
    await writer.append(batchOf(head, 0));
    await writer.note(head.locator, note);
    const counting = countingBucket(bucket);
    const { runs } = await remote(counting).list({ status: "blocked" });
    expect(runs).toEqual([{ ...head, status: "blocked", blocked: note, driven: false }]);
    expect(counting.counts.gets).toBeLessThanOrEqual(4);
  });

  test("an index object of a note that is void is removed when it is met", async () => {
    const bucket = new MemoryBucket();
    const storage = remote(bucket);
    const head = headOf();
    await storage.append(batchOf(head, 0));
    await storage.note(head.locator, note);
    const [marker = ""] = await keysOf(bucket, "index/blocked/");
    await storage.lease(head.locator, "a", 1_000);
    await bucket.create(marker, "");
    expect((await remote(bucket).list({ status: "blocked" })).runs).toEqual([]);
    expect(await keysOf(bucket, "index/blocked/")).toEqual([]);
  });

  test("a build without notes that leases the run makes its note void while it has the lease", async () => {
    const bucket = new MemoryBucket();
    const storage = remote(bucket);
    const head = headOf();
    await storage.append(batchOf(head, 0));
    await storage.note(head.locator, note);
    // Such a build copies what it does not know into its next record.
    const slots = await keysOf(bucket, "runs/");
    const last = JSON.parse((await bucket.get(slots.at(-1) ?? "")) ?? "{}");
    const lease = { owner: "another build", until: 6_000 };
    const next = {
      ...last,
      id: "x",
      slot: last.slot + 1,
      state: { ...last.state, lease, starts: 1, startsAt: 1 },
    };
    const key = `runs/${head.locator}/0/${String(next.slot).padStart(10, "0")}`;
    await bucket.create(key, JSON.stringify(next));
    expect((await remote(bucket).read(head.locator)).blocked).toBeUndefined();
    expect((await remote(bucket).list({ status: "running" })).runs).toMatchObject([head]);
    expect((await remote(bucket).list({ status: "blocked" })).runs).toEqual([]);
  });

  test("rebuild brings the index object of a note back", async () => {
    const bucket = new MemoryBucket();
    const storage = remote(bucket);
    const head = headOf();
    await storage.append(batchOf(head, 0));
    await storage.note(head.locator, note);
    await bucket.delete(await keysOf(bucket, "index/"));
    expect((await remote(bucket).list({ status: "blocked" })).runs).toEqual([]);
    expect(await remote(bucket).rebuild()).toMatchObject({ runs: 1, added: 2, removed: 0 });
    expect((await remote(bucket).list({ status: "blocked" })).runs).toHaveLength(1);
  });
});

describe("due runs beside runs that others drive", () => {
  const ttlMs = 30_000;

  /** Runs that workers have held for longer than half a lease: each has renewed its lease once. */
  async function held(bucket: MemoryBucket, clock: { now: number }, count: number) {
    const writer = remote(bucket, clock);
    const heads = Array.from({ length: count }, () => headOf({ dueSince: clock.now }));
    for (const head of heads) await writer.append({ ...batchOf(head, 0), lease: { owner: "a", ttlMs } });
    clock.now += ttlMs / 2;
    for (const [n, head] of heads.entries())
      if (n % 2 === 0) await writer.append({ ...batchOf(head, 1), lease: { owner: "a", ttlMs } });
      else expect(await writer.lease(head.locator, "a", ttlMs)).not.toBeNull();
    return { writer, heads };
  }

  test("cost a list request for a thousand of those, and no read", async () => {
    const [bucket, clock] = [new MemoryBucket(), { now: 5_000 }];
    await held(bucket, clock, 1_500);
    const due = headOf();
    await remote(bucket, clock).append(batchOf(due, 0));
    const counting = countingBucket(bucket);
    const { runs } = await remote(counting, clock).list({ dueAt: clock.now });
    expect(runs.map(({ locator }) => locator)).toEqual([due.locator]);
    // The first storage of a process reads the layout; the run has a record and looks for the next.
    expect(counting.counts.gets).toBeLessThanOrEqual(4);
    expect(counting.counts.lists).toBeLessThanOrEqual(4);
  }, 300_000);

  test("are found when the lease has ended, was given back, or was renewed for a shorter time", async () => {
    const [bucket, clock] = [new MemoryBucket(), { now: 5_000 }];
    const { writer, heads } = await held(bucket, clock, 6);
    const due = async () => {
      const { runs } = await remote(bucket, clock).list({ dueAt: clock.now });
      return runs.map(({ locator }) => locator).toSorted();
    };
    const locatorsOf = (...places: number[]) => places.map((n) => heads[n]!.locator).toSorted();
    expect(await due()).toEqual([]);
    await writer.release(heads[0]!.locator, "a");
    await writer.release(heads[1]!.locator, "a", 2_000);
    await writer.lease(heads[2]!.locator, "a", 1_000);
    await writer.lease(heads[3]!.locator, "a", 0);
    expect(await due()).toEqual(locatorsOf(0, 3));
    clock.now += 1_000;
    expect(await due()).toEqual(locatorsOf(0, 2, 3));
    clock.now += 1_000;
    expect(await due()).toEqual(locatorsOf(0, 1, 2, 3));
    clock.now += ttlMs;
    expect(await due()).toEqual(locatorsOf(0, 1, 2, 3, 4, 5));
    expect((await keysOf(bucket, "index/")).length, "one index object each").toBe(heads.length);
  });

  test("a short drive writes nothing more, and a long one an index object for each half of a lease", async () => {
    const [bucket, clock] = [new MemoryBucket(), { now: 5_000 }];
    const counting = countingBucket(bucket);
    const writer = remote(counting, clock);
    const head = headOf({ dueSince: clock.now });
    await writer.append(batchOf(head, 0));
    const puts = async (work: () => Promise<unknown>) => {
      const before = counting.counts.puts;
      await work();
      return counting.counts.puts - before;
    };
    const renew = () => writer.lease(head.locator, "a", ttlMs);
    expect(await puts(renew), "taken").toBe(1);
    const each: number[] = [];
    for (let n = 0; n < 12; n++) {
      clock.now += ttlMs / 3;
      each.push(await puts(renew));
    }
    // A record each; with every second one an index object.
    expect(each).toEqual([1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
  });
});
