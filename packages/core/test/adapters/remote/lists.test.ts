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
