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
