import { DurableError } from "@durable/core";
import { MemoryBucket } from "@durable/core/remote";
import { describe, expect, test } from "vitest";
import { batchOf, createLong, dying, headOf, keysOf, remote, watched } from "./support/remote.ts";

describe("a bucket that ignores conditions", () => {
  const careless = (): MemoryBucket =>
    Object.assign(new MemoryBucket(), {
      create(this: MemoryBucket, key: string, text: string) {
        return this.put(key, text).then(() => true);
      },
    });

  test("is refused before anything is written, with an error that says what to do", async () => {
    const bucket = careless();
    const storage = remote(bucket);
    const refused = storage.append(batchOf(headOf(), 0));
    await expect(refused).rejects.toMatchObject({ code: "no-storage", details: { conditions: false } });
    await expect(refused).rejects.toThrow(/If-None-Match/);
    expect(await keysOf(bucket, "")).toEqual([]);
    await expect(storage.append(batchOf(headOf(), 0)), "and again").rejects.toThrow(/If-None-Match/);
  });

  test("is asked once for each bucket, not for each handle", async () => {
    const bucket = new MemoryBucket();
    const asked: string[] = [];
    const open = () =>
      remote(watched(bucket, (operation, key) => void (key === "layout" && asked.push(operation))));
    const storage = open();
    const head = await createLong(storage, 3);
    expect(asked).toEqual(["get", "create", "create"]);
    await open().append(batchOf(headOf(), 0));
    expect(asked.slice(3)).toEqual(["get"]);
    const reader = open();
    await reader.read(head.locator);
    await reader.append(batchOf(head, 3));
    expect(asked.slice(4), "what was read says enough").toEqual([]);
  });

  test("is known by a newer layout, too", async () => {
    const bucket = new MemoryBucket();
    await bucket.put("layout", '{"v":4}');
    await expect(remote(bucket).append(batchOf(headOf(), 0))).rejects.toMatchObject({ code: "newer-format" });
  });
});

describe("H15 writes whose reply is lost", () => {
  test.each(["lost reply", "412 for one's own write"])("%s: the batch is there once", async (kind) => {
    const bucket = new MemoryBucket();
    let faults = 0;
    const storage = remote({
      get: (key) => bucket.get(key),
      put: (key, text) => bucket.put(key, text),
      list: (query) => bucket.list(query),
      delete: (keys) => bucket.delete(keys),
      create: async (key, text) => {
        const created = await bucket.create(key, text);
        if (!created || !key.startsWith("runs/")) return created;
        faults += 1;
        if (kind === "lost reply") throw new Error("The connection was lost.");
        return false;
      },
    });
    const head = await createLong(storage, 4);
    expect(faults).toBe(4);
    expect(await remote(bucket).read(head.locator)).toMatchObject({ length: 4 });
    expect(await keysOf(bucket, "runs/")).toHaveLength(4);
  });

  test("a write that another was first with is a conflict, whatever was lost on the way", async () => {
    const bucket = new MemoryBucket();
    const first = remote(bucket);
    const head = await createLong(first, 2);
    let lost = 0;
    const second = remote(
      watched(bucket, (operation, key) => {
        if (operation === "create" && key.startsWith("runs/") && lost++ < 2) throw new Error("lost");
      }),
    );
    await second.read(head.locator);
    await first.append(batchOf(head, 2, "theirs"));
    await expect(second.append(batchOf(head, 2, "ours"))).rejects.toMatchObject({ code: "conflict" });
    expect((await second.read(head.locator, 2)).batches).toEqual(["theirs"]);
  });

  test("a batch lands at its position or not at all, whoever reads on in the meantime", async () => {
    for (let turns = 0; turns < 24; turns++) {
      const bucket = new MemoryBucket();
      const [one, two] = [remote(bucket), remote(bucket)];
      const head = await createLong(one, 2);
      await two.read(head.locator);
      await two.append(batchOf(head, 2, "theirs"));
      const reading = one.read(head.locator);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const append = one.append(batchOf(head, 2, "ours"));
      await expect(append, `${turns} turns later`).rejects.toMatchObject({ code: "conflict" });
      await reading;
      expect((await remote(bucket).read(head.locator, 2)).batches).toEqual(["theirs"]);
    }
  });

  test("a bucket that does not answer is asked until its deadline, with the same bytes, and then named", async () => {
    const bucket = new MemoryBucket();
    await remote(bucket).append(batchOf(headOf(), 0));
    const sent: string[] = [];
    const storage = remote({
      get: (key) => bucket.get(key),
      put: (key, text) => bucket.put(key, text),
      list: (query) => bucket.list(query),
      delete: (keys) => bucket.delete(keys),
      create: (key, text) => {
        if (key.startsWith("index/")) return bucket.create(key, text);
        sent.push(text);
        return Promise.reject(new Error("ECONNRESET"));
      },
    });
    const append = storage.append(batchOf(headOf(), 0));
    await expect(append).rejects.toMatchObject({ code: "storage-failed" });
    await expect(append).rejects.toThrow(/ECONNRESET/);
    expect(sent.length).toBeGreaterThan(10);
    expect(sent.length).toBeLessThan(30);
    expect(new Set(sent).size).toBe(1);
  });

  test("a refusal that is final is not asked again", async () => {
    const bucket = new MemoryBucket();
    let asked = 0;
    const storage = remote(
      watched(bucket, () => {
        asked += 1;
        throw new DurableError("storage-readonly", "403 Access Denied");
      }),
    );
    await expect(storage.append(batchOf(headOf(), 0))).rejects.toMatchObject({ code: "storage-readonly" });
    expect(asked).toBe(1);
  });
});

describe("the index", () => {
  test("H18 whoever dies at any write of a run's life leaves lists that agree with the journal", async () => {
    let deaths = 0;
    for (let writes = 0; ; writes++) {
      const bucket = new MemoryBucket();
      await remote(bucket).append(batchOf(headOf({ workflow: "other" }), 0));
      const mortal = dying(bucket, writes);
      const head = headOf();
      const life = async (): Promise<void> => {
        const storage = remote(mortal.bucket);
        await storage.append(batchOf(head, 0));
        await storage.append(batchOf({ ...head, status: "suspended", wakeAt: 9_000 }, 1));
        await storage.append(batchOf({ ...head, status: "running", wakeAt: 0 }, 2));
        await storage.append(batchOf({ ...head, status: "completed", wakeAt: null }, 3));
      };
      const died = await Promise.race([life().then(() => false), mortal.died.then(() => true)]);
      const other = remote(bucket);
      const { length } = await other.read(head.locator);
      const statuses = ["none", "running", "suspended", "running", "completed"];
      const { runs } = await other.list({ workflow: "loan" });
      expect(
        runs.map(({ status }) => status),
        `died at write ${writes}`,
      ).toEqual(length === 0 ? [] : [statuses[length]]);
      const due = await other.list({ workflow: "loan", dueAt: 10_000 });
      expect(due.runs).toHaveLength(length === 0 || length === 4 ? 0 : 1);
      if (!died) break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(8);
  });

  test("is made anew from the journals, and what nobody needs goes", async () => {
    const bucket = new MemoryBucket();
    const storage = remote(bucket);
    for (let n = 0; n < 5; n++) await createLong(storage, 2 + n);
    const sleeper = await createLong(storage, 1, { status: "suspended", wakeAt: 4_000 });
    const before = await storage.list();
    const index = [...(await keysOf(bucket, "index/")), ...(await keysOf(bucket, "timers/"))];
    expect(index).toHaveLength(7);
    await bucket.delete(index);
    expect((await storage.list()).runs).toEqual([]);
    // One for a slot that is long taken, one of a run that was never there.
    await bucket.put(index[0]!.replace("running", "failed").replace(/\.0\.0\./, ".0.1."), "");
    expect(await storage.rebuild()).toEqual({ runs: 6, added: 7, removed: 1 });
    expect(await remote(bucket).list()).toEqual(before);
    expect((await remote(bucket).list({ dueAt: 4_000, status: "suspended" })).runs).toEqual([
      expect.objectContaining({ locator: sleeper.locator }),
    ]);
    expect(await storage.rebuild()).toEqual({ runs: 6, added: 0, removed: 0 });
  });

  test("an object too many is not believed, and goes when its slot is taken", async () => {
    const bucket = new MemoryBucket();
    const storage = remote(bucket);
    const head = await createLong(storage, 2);
    const [marker = ""] = await keysOf(bucket, "index/");
    const early = marker.replace("running", "completed").replace(/\.0\.0\./, ".0.2.");
    await bucket.put(early, "");
    expect((await remote(bucket).list({ status: "completed" })).runs).toEqual([]);
    expect(await bucket.get(early), "its slot may be written yet").toBe("");
    await storage.append(batchOf(head, 2));
    expect((await remote(bucket).list({ status: "completed" })).runs).toEqual([]);
    expect(await bucket.get(early)).toBeNull();
  });
});

describe("what stands in the bucket", () => {
  test("a snapshot that is damaged, missing, or older is made up for by reading", async () => {
    const bucket = new MemoryBucket();
    const head = await createLong(remote(bucket), 200);
    const key = `snapshots/${head.locator}`;
    const snapshot = (await bucket.get(key))!;
    const whole = await remote(bucket).read(head.locator);
    expect(whole.batches).toHaveLength(200);
    for (const text of [
      "",
      "{",
      '{"v":9}',
      snapshot.slice(0, -9),
      snapshot.replace(/"batches":\["[^"]*",/, '"batches":['),
    ]) {
      await bucket.put(key, text);
      expect(await remote(bucket).read(head.locator)).toEqual(whole);
    }
    await bucket.delete([key]);
    expect(await remote(bucket).read(head.locator)).toEqual(whole);
  });

  test("a record that is damaged is told, not passed over", async () => {
    const bucket = new MemoryBucket();
    const head = await createLong(remote(bucket), 3);
    const [, second = ""] = await keysOf(bucket, "runs/");
    const text = (await bucket.get(second))!;
    for (const [damaged, code] of [
      [text.slice(0, -1), "corrupt"],
      ["null", "corrupt"],
      [text.replace('"v":3', '"v":7'), "newer-format"],
      [text.replace('"v":3', '"v":2'), "pre-release"],
      [text.replace('"v":3', '"v":0'), "corrupt"],
    ] as const) {
      await bucket.put(second, damaged);
      await expect(remote(bucket).read(head.locator)).rejects.toMatchObject({ code });
    }
  });

  test("H65 a locator that is none of ours reaches no object", async () => {
    const bucket = new MemoryBucket();
    const storage = remote(bucket);
    for (const locator of ["../x", "a/b", "", ".", "a.b", "x".repeat(65), "\u0000"]) {
      await expect(storage.read(locator)).rejects.toMatchObject({ code: "invalid-id" });
      await expect(storage.append(batchOf(headOf({ locator }), 0))).rejects.toMatchObject({
        code: "invalid-id",
      });
      await expect(storage.delete(locator)).rejects.toMatchObject({ code: "invalid-id" });
    }
    expect(await keysOf(bucket, "")).toEqual([]);
  });
});
