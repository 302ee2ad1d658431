import { durable, MemoryStorage } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { expect, test } from "vitest";

test("countingStorage counts written characters, including large values, and shared values once", async () => {
  const storage = countingStorage(new MemoryStorage());
  const text = Array.from({ length: 4_000 }, (_, n) => `word ${n}`).join(" ");
  const flow = durable("large", async (ctx) => {
    await ctx.step("large", () => text);
    const { written } = storage.counts;
    await ctx.step("again", () => text);
    return written;
  });
  const outcome = await flow.with({ storage }).run();
  const before = outcome.status === "completed" ? outcome.output : 0;
  expect(before).toBeGreaterThan(text.length);
  expect(before).toBeLessThan(text.length * 1.2);
  expect(storage.counts.written - before).toBeLessThan(text.length / 4);
});
