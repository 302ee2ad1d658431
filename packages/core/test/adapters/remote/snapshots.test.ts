import type { RunHead } from "@durable/core";
import { MemoryBucket, type Bucket, type RemoteStorage } from "@durable/core/remote";
import { countingBucket } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { batchOf, headOf, keysOf, remote } from "./support/remote.ts";

/** About what a turn of a conversation adds. */
const turn = (position: number): string => `turn ${position} ${"word ".repeat(600)}`;

/** Parks after each batch, each time in another process. Every tenth names a blob. */
async function talk(bucket: Bucket, count: number, from = 0, before = headOf()): Promise<RunHead> {
  const head = { ...before, status: "suspended", wakeAt: null } as const;
  for (let position = from; position < from + count; position++) {
    const blobs = position % 10 === 0 ? [{ name: `blob ${position}`, body: turn(position) }] : [];
    await remote(bucket).append({ ...batchOf(head, position, turn(position)), blobs });
  }
  return head;
}

const keyOf = (what: "snapshots" | "bases", { locator }: RunHead): string => `${what}/${locator}`;

async function writtenFor(bucket: MemoryBucket, work: (bucket: Bucket) => Promise<unknown>): Promise<number> {
  const { counts, ...counting } = countingBucket(bucket);
  await work(counting);
  return counts.written;
}

describe("a run that parks after every turn", () => {
  test("writes what it adds and a little more, and not its history", async () => {
    const bucket = new MemoryBucket();
    let head = headOf();
    const bytes: number[] = [];
    for (let part = 0; part < 10; part++)
      bytes.push(
        await writtenFor(bucket, async (counting) => {
          head = await talk(counting, 30, part * 30, head);
        }),
      );
    const total = bytes.reduce((sum, more) => sum + more);
    console.log(`300 turns of 3 kB that park: ${(total / 1e6).toFixed(1)} MB written`);
    // The whole log for every turn would be 150 times its size.
    expect(total / (300 * turn(0).length)).toBeLessThan(30);
    expect(bytes.at(-1)! / bytes[2]!, "for 30 turns, late and early").toBeLessThan(3);
  });

  test("is read by another process with one more request", async () => {
    for (const [turns, most] of [
      [10, 3],
      [300, 4],
    ] as const) {
      const bucket = new MemoryBucket();
      const head = await talk(bucket, turns);
      const { counts, ...counting } = countingBucket(bucket);
      const { batches, blobs } = await remote(counting).read(head.locator);
      expect(counts.gets).toBe(most);
      expect(batches).toEqual(Array.from({ length: turns }, (_, i) => turn(i)));
      expect(Object.keys(blobs ?? {})).toHaveLength(turns / 10);
    }
  });
});

describe("the base of a snapshot", () => {
  /** Two hundred turns, and what the bucket had after a hundred of them. */
  async function large() {
    const bucket = new MemoryBucket();
    const half = await talk(bucket, 100);
    const old = {
      snapshot: (await bucket.get(keyOf("snapshots", half)))!,
      base: (await bucket.get(keyOf("bases", half)))!,
    };
    const head = await talk(bucket, 100, 100, half);
    const whole = await remote(bucket).read(head.locator);
    expect(whole.batches).toHaveLength(200);
    return { bucket, head, old, whole };
  }

  test("that is missing, damaged, older, or of another life is made up for by reading", async () => {
    const { bucket, head, old, whole } = await large();
    const key = keyOf("bases", head);
    const base = (await bucket.get(key))!;
    const texts = ["", "{", '{"v":9}', base.slice(0, -9), base.replace('"life":0', '"life":1'), old.base];
    for (const text of [...texts, base.replace('"from":0', '"from":3')]) {
      await bucket.put(key, text);
      expect(await remote(bucket).read(head.locator)).toEqual(whole);
    }
    await bucket.delete([key]);
    expect(await remote(bucket).read(head.locator)).toEqual(whole);
    await talk(bucket, 1, 200, head);
    const { counts, ...counting } = countingBucket(bucket);
    expect((await remote(counting).read(head.locator)).batches).toHaveLength(201);
    expect(counts.gets, "the next park has written both anew").toBe(4);
  });

  test("may be newer than the snapshot that names it", async () => {
    const { bucket, head, old, whole } = await large();
    await bucket.put(keyOf("snapshots", head), old.snapshot);
    expect(await remote(bucket).read(head.locator)).toEqual(whole);
  });

  test("goes with its run, and with its chapter", async () => {
    const { bucket, head } = await large();
    const chaptered: RemoteStorage = remote(bucket);
    await chaptered.append(batchOf({ ...head, chapter: 200 }, 200, "a chapter"));
    expect((await chaptered.readChapter(head.locator)).batches).toEqual(["a chapter"]);
    await chaptered.dropChapters(head.locator, 200);
    expect(await keysOf(bucket, "bases/")).toEqual([]);
    const other = await large();
    await remote(other.bucket).delete(other.head.locator);
    expect(await keysOf(other.bucket, "bases/")).toEqual([]);
    expect(await keysOf(other.bucket, "snapshots/")).toEqual([]);
  });
});
