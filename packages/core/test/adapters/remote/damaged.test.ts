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
