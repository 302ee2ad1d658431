import { durable, MemoryStorage, type RunHead, type Storage } from "@durable/core";
import { countingStorage, faultyStorage, virtualWorld } from "@durable/testing";
import { expect, test } from "vitest";
import { tapped } from "../src/kit/points.ts";

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

/** A storage with the optional calls, or without them. */
function inner(offers: boolean): Storage {
  const memory = new MemoryStorage();
  const bound: Storage = {
    append: (request) => memory.append(request),
    read: (locator, from) => memory.read(locator, from),
    list: (query) => memory.list(query),
    lease: (locator, owner, ttlMs) => memory.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => memory.release(locator, owner, quietMs),
    delete: (locator) => memory.delete(locator),
  };
  return offers ? memory : bound;
}

const wrappers: Readonly<Record<string, (storage: Storage) => Storage>> = {
  countingStorage,
  faultyStorage: (storage) => faultyStorage(storage, { world: virtualWorld() }),
  tapped: (storage) => tapped(storage, "r", () => {}),
};

test.each(Object.entries(wrappers))(
  "%s passes the calls that a storage may lack, and adds none",
  async (_name, wrap) => {
    const calls = ["readChapter", "dropChapters", "note"] as const;
    const bare = wrap(inner(false));
    expect(calls.filter((call) => bare[call] !== undefined)).toEqual([]);
    const storage = wrap(inner(true));
    const head: RunHead = {
      locator: "r",
      runId: "r",
      workflow: "w",
      status: "running",
      wakeAt: 0,
      dueSince: 1,
      createdAt: 1,
      updatedAt: 1,
      steps: 0,
      label: null,
      parent: null,
      ancestors: [],
    };
    await storage.append({ locator: "r", position: 0, batch: '{"entries":[]}', head });
    await storage.append({
      locator: "r",
      position: 1,
      batch: '{"entries":[{"kind":"x"}]}',
      head: { ...head, chapter: 1 },
    });
    const note = { code: "diverged", message: "", since: 1, length: 2 };
    await storage.note?.("r", note);
    await storage.dropChapters?.("r", 1);
    expect(await storage.readChapter?.("r")).toMatchObject({
      batches: ['{"entries":[{"kind":"x"}]}'],
      length: 2,
      from: 1,
      blocked: note,
    });
    expect(await storage.read("r")).toMatchObject({
      batches: ['{"entries":[{"kind":"x"}]}'],
      length: 2,
      from: 1,
    });
  },
);

test("countingStorage counts reads of chapters, notes and drops", async () => {
  const storage = countingStorage(new MemoryStorage());
  await storage.readChapter?.("r");
  await storage.read("r");
  await storage.note?.("r", { code: "diverged", message: "", since: 1, length: 2 });
  await storage.dropChapters?.("r", 0);
  expect(storage.counts).toMatchObject({ reads: 2, notes: 1, drops: 1 });
});

test("faultyStorage plans faults of the calls that a storage may lack", async () => {
  const plan = (operation: string): "lose-reply" | null => (operation === "note" ? "lose-reply" : null);
  const storage = faultyStorage(new MemoryStorage(), { world: virtualWorld(), plan });
  await storage.readChapter?.("r");
  const note = { code: "diverged", message: "", since: 1, length: 2 };
  await expect(storage.note?.("r", note)).rejects.toThrow("lost during note");
  expect(storage.counts).toMatchObject({ read: 1, note: 1, dropChapters: 0 });
});
