import { durable, MemoryStorage, type Storage } from "@durable/core";
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

test("countingStorage counts the batches and the characters that reads return, with their blobs", async () => {
  const memory = new MemoryStorage();
  const storage = countingStorage(memory);
  const text = Array.from({ length: 4_000 }, (_, n) => `word ${n}`).join(" ");
  const flow = durable("large", async (ctx) => {
    await ctx.step("small", () => 1);
    return ctx.step("large", () => text);
  });
  await flow.with({ storage: memory }).run(undefined, { id: "r" });
  expect(storage.counts).toMatchObject({ reads: 0, batches: 0, fetched: 0 });
  const { runs } = await storage.list();
  const { batches, blobs = {} } = await storage.read(runs[0]!.locator);
  const length = [...batches, ...Object.values(blobs)].join("").length;
  expect(storage.counts).toMatchObject({ reads: 1, batches: 4, fetched: length });
  expect(length).toBeGreaterThan(text.length);
  const { batches: tail } = await storage.read(runs[0]!.locator, 3);
  expect(storage.counts).toMatchObject({ reads: 2, batches: 5 });
  expect(storage.counts.fetched - length).toBe(tail.join("").length);
});

test("countingStorage counts a read of the current chapter like any other, and offers what the storage offers", async () => {
  const memory: Storage = new MemoryStorage();
  const bare = countingStorage({
    append: memory.append.bind(memory),
    read: memory.read.bind(memory),
    list: memory.list.bind(memory),
    lease: memory.lease.bind(memory),
    release: memory.release.bind(memory),
    delete: memory.delete.bind(memory),
  });
  for (const name of ["readChapter", "dropChapters", "note", "changed", "secret"] as const)
    expect(bare[name], name).toBeUndefined();
  const noted: string[] = [];
  const storage = countingStorage({
    ...bare,
    readChapter: async (locator) => ({ batches: ["abc", locator], length: 7, from: 5 }),
    dropChapters: async (locator, before) => void noted.push(`${locator} ${before}`),
    note: async (locator, { code }) => void noted.push(`${locator} ${code}`),
  });
  expect(await storage.readChapter?.("loc")).toEqual({ batches: ["abc", "loc"], length: 7, from: 5 });
  expect(storage.counts).toMatchObject({ reads: 1, batches: 2, fetched: 6 });
  await storage.dropChapters?.("loc", 5);
  await storage.note?.("loc", { code: "diverged", message: "", since: 0, length: 1 });
  expect(noted).toEqual(["loc 5", "loc diverged"]);
});
