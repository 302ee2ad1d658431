import { DurableError } from "@durable/core";
import { MemoryBucket } from "@durable/core/remote";
import { countingBucket, faultyBucket, seeded, type BucketFault } from "@durable/testing";
import { describe, expect, test } from "vitest";

/** A bucket in which every request has this fault, three times in a row at most. */
function bucketWith(fault: BucketFault) {
  const bucket = new MemoryBucket();
  return { bucket, faulty: faultyBucket(bucket, { random: seeded(1), rate: 1, faults: [fault] }) };
}

const resultOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (DurableError.is(error) ? error.code : "lost"));

describe("a faulty bucket", () => {
  test.each([
    ["lose-request", "lost", null],
    ["lose-reply", "lost", "text"],
    ["busy", "storage-busy", null],
    ["busy-after", "storage-busy", "text"],
    ["own-412", false, "text"],
  ] as const)("%s: a write gets %s, and %s is stored", async (fault, said, there) => {
    const { bucket, faulty } = bucketWith(fault);
    expect(await resultOf(faulty.create("key", "text"))).toBe(said);
    expect(await bucket.get("key")).toBe(there);
    expect(faulty.happened).toEqual(new Map([[fault, 1]]));
  });

  test("a late request is applied once the bucket is quiet", async () => {
    const { bucket, faulty } = bucketWith("apply-late");
    expect(await resultOf(faulty.put("key", "text"))).toBe("lost");
    expect(await bucket.get("key")).toBeNull();
    await faulty.quiet();
    expect(await bucket.get("key")).toBe("text");
  });

  test("lists lag behind until they are settled, and end early only if they say so", async () => {
    const stale = bucketWith("stale-list");
    for (const key of ["a", "b", "c"]) await stale.faulty.create(key, "");
    expect(await stale.faulty.list({ prefix: "" })).toEqual({ keys: [], more: false });
    stale.faulty.settle();
    expect(await stale.faulty.list({ prefix: "" })).toEqual({ keys: ["a", "b", "c"], more: false });
    const short = bucketWith("short-list");
    for (const key of ["a", "b", "c"]) await short.bucket.create(key, "");
    expect(await short.faulty.list({ prefix: "" })).toEqual({ keys: ["a", "b"], more: true });
  });

  test("gives one request no more faults in a row than a retrying caller can handle", async () => {
    const { faulty } = bucketWith("busy");
    const answers = [];
    for (let i = 0; i < 8; i++) answers.push(await resultOf(faulty.get("key")));
    const busy = new Array(3).fill("storage-busy");
    expect(answers).toEqual([...busy, null, ...busy, null]);
  });
});

test("a counting bucket counts what was asked, and what was written", async () => {
  const counting = countingBucket(new MemoryBucket());
  expect([await counting.create("a", "one"), await counting.create("a", "two")]).toEqual([true, false]);
  await counting.put("s", "1");
  await counting.put("s", "22");
  expect(await counting.get("a")).toBe("one");
  await counting.list({ prefix: "" });
  await counting.delete(["a"]);
  const { writes, ...counts } = counting.counts;
  expect(counts).toEqual({ gets: 1, puts: 4, lists: 1, deletes: 1, written: 6 });
  expect([...writes]).toEqual([
    ["a", 1],
    ["s", 2],
  ]);
});
