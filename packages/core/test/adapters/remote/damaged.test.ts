import { MemoryBucket } from "@durable/core/remote";
import { describe, expect, test } from "vitest";
import { batchOf, headOf, keysOf, remote } from "./support/remote.ts";

describe("one log that cannot be read", () => {
  test.each([
    ["cut in half", (text: string) => text.slice(0, text.length / 2)],
    ["of a newer layout", (text: string) => text.replace(/^\{"v":\d+/, '{"v":99')],
  ] as const)("and is %s leaves out its run, with one warning", async (_, damage) => {
    const bucket = new MemoryBucket();
    const writer = remote(bucket);
    const heads = Array.from({ length: 5 }, () => headOf());
    for (const head of heads) await writer.append(batchOf(head, 0));
    const [bad = headOf(), ...good] = heads;
    const [key = ""] = await keysOf(bucket, `runs/${bad.locator}/`);
    await bucket.put(key, damage((await bucket.get(key)) ?? ""));
    const warnings: string[] = [];
    const reader = remote(bucket, { now: 5_000 }, warnings);
    for (const query of [{}, { dueAt: 5_000 }, { status: "running" }, {}] as const) {
      const { runs } = await reader.list(query);
      expect(runs.map(({ locator }) => locator).toSorted()).toEqual(
        good.map(({ locator }) => locator).toSorted(),
      );
    }
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(key);
    await expect(reader.read(bad.locator), "a read of the run itself is refused").rejects.toMatchObject({
      code: expect.stringMatching(/corrupt|newer-format/),
    });
  });
});

describe("a bucket that answers every key with one object", () => {
  test.each([
    ["an object that is nothing", () => '{"v":3}'],
    ["a record of another slot", (record: string) => record],
    ["a way to a slot before it", () => '{"v":3,"id":"","next":0}'],
  ] as const)("%s is damaged, and the read ends", async (_, objectOf) => {
    const bucket = new MemoryBucket();
    const head = headOf();
    const writer = remote(bucket);
    for (const position of [0, 1]) await writer.append(batchOf(head, position));
    const [, last = ""] = await keysOf(bucket, `runs/${head.locator}/`);
    const text = objectOf((await bucket.get(last)) ?? "");
    let left = 500;
    // From then on there is nothing, so that a read that does not end by itself ends.
    const get = async (): Promise<string | null> => {
      left -= 1;
      return left < 0 ? null : text;
    };
    const reader = remote({
      get,
      create: (key, made) => bucket.create(key, made),
      put: (key, made) => bucket.put(key, made),
      list: (query) => bucket.list(query),
      delete: (keys) => bucket.delete(keys),
    });
    await expect(reader.read(head.locator)).rejects.toMatchObject({ code: "corrupt" });
  });
});
