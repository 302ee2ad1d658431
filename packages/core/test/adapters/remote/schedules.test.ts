import { MemoryBucket, RemoteStorage, type Bucket } from "@durable/core/remote";
import type { ScheduleStore, StoredSchedule } from "@durable/core/storage";
import { describe, expect, test } from "vitest";

let versions = 0;

function schedule(name = "daily"): StoredSchedule {
  const version = `v${++versions}`;
  return { name, workflow: "loan", dueAt: 1_000, version, text: version };
}

function storeOf(bucket: Bucket): ScheduleStore {
  return new RemoteStorage(bucket).schedules;
}

/** A bucket that calls `before` ahead of every write of a new record. */
function hooked(bucket: Bucket, before: () => Promise<void>): Bucket {
  return {
    get: (key) => bucket.get(key),
    create: async (key, text) => {
      if (key.startsWith("schedule-records/")) await before();
      return bucket.create(key, text);
    },
    put: (key, text) => bucket.put(key, text),
    list: (query) => bucket.list(query),
    delete: (keys) => bucket.delete(keys),
  };
}

async function change(store: ScheduleStore, times: number): Promise<StoredSchedule> {
  let last = await store.get("daily");
  for (let n = 0; n < times; n++) {
    const next = schedule();
    expect(await store.put(next, last?.version ?? null)).toBe(true);
    last = next;
  }
  return last as StoredSchedule;
}

describe("a writer that slept", () => {
  test.each([1, 2, 7, 8, 9, 10, 40])("while %i others wrote writes nothing", async (times) => {
    const bucket = new MemoryBucket();
    const store = storeOf(bucket);
    const before = await change(store, 3);
    let last = before;
    let slept = false;
    const sleeper = storeOf(
      hooked(bucket, async () => {
        if (!slept) last = await change(store, times);
        slept = true;
      }),
    );
    expect(await sleeper.put(schedule(), before.version)).toBe(false);
    for (const each of [store, sleeper, storeOf(bucket)]) expect(await each.get("daily")).toEqual(last);
  });

  test.each([0, 1, 20])(
    "while it was deleted, and %i writes followed, brings nothing back",
    async (times) => {
      const bucket = new MemoryBucket();
      const store = storeOf(bucket);
      const before = await change(store, 3);
      const late = storeOf(bucket);
      expect(await late.get("daily")).toEqual(before);
      expect(await store.delete("daily", before.version)).toBe(true);
      const last = times === 0 ? null : await change(store, times);
      expect(await late.put(schedule(), before.version)).toBe(false);
      for (const each of [store, late, storeOf(bucket)]) expect(await each.get("daily")).toEqual(last);
    },
  );
});

test("a schedule is listed although its writer died after the first record", async () => {
  const bucket = new MemoryBucket();
  const dying: Bucket = {
    ...hooked(bucket, async () => {}),
    create: async (key, text) => {
      const created = await bucket.create(key, text);
      return key.startsWith("schedule-records/") ? new Promise<boolean>(() => {}) : created;
    },
  };
  const written = schedule();
  void storeOf(dying).put(written, null);
  await expect.poll(async () => (await bucket.list({ prefix: "schedule-records/" })).keys.length).toBe(1);
  expect(await storeOf(bucket).list()).toEqual([written]);
});

test("a sign that is too old is made up for", async () => {
  const bucket = new MemoryBucket();
  const store = storeOf(bucket);
  await change(store, 2);
  const [sign = ""] = (await bucket.list({ prefix: "schedules/" })).keys;
  const old = (await bucket.get(sign)) ?? "";
  const last = await change(store, 30);
  await bucket.put(sign, old);
  expect(await storeOf(bucket).get("daily")).toEqual(last);
  expect(await storeOf(bucket).list()).toEqual([last]);
  expect(await storeOf(bucket).put(schedule(), last.version)).toBe(true);
});

test("few objects are kept of a schedule that changes often", async () => {
  const bucket = new MemoryBucket();
  await change(storeOf(bucket), 50);
  expect((await bucket.list({ prefix: "schedule" })).keys.length).toBeLessThan(12);
});

test("a request whose reply was lost counts as what it was", async () => {
  const bucket = new MemoryBucket();
  let lost = 0;
  const flaky: Bucket = {
    ...hooked(bucket, async () => {}),
    create: async (key, text) => {
      const created = await bucket.create(key, text);
      if (key.startsWith("schedule-records/") && ++lost % 2 === 1) throw new Error("lost");
      return created;
    },
  };
  const last = await change(storeOf(flaky), 5);
  expect(lost).toBe(10);
  expect(await storeOf(bucket).get("daily")).toEqual(last);
});
