import {
  copyRuns,
  durable,
  MemoryStorage,
  type CopyProgress,
  type RunHead,
  type Storage,
} from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import type { AppendRequest, ReadReply } from "@durable/core/storage";
import { countingBucket } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { secret, tokenOf } from "../support/behaviour-lab.ts";
import { headOf } from "../adapters/sqlite/support/samples.ts";
import { contentOf, headsOf } from "./support/houses.ts";

async function write(storage: Storage, head: RunHead, texts: readonly string[], first = 0): Promise<void> {
  for (const [n, batch] of texts.entries())
    await storage.append({ locator: head.locator, position: first + n, batch, head });
}

const request = (locator: string, position: number, batch: string): AppendRequest => ({
  locator,
  position,
  batch,
  head: headOf(locator),
});

describe("a run that the target has in another form is refused, and left as it is:", () => {
  const cases: readonly [string, (to: Storage) => Promise<void>, RegExp][] = [
    ["another batch", (to) => write(to, headOf("a"), ["1", "other"]), /batch 1 differs/],
    ["another run", (to) => write(to, headOf("a", { createdAt: 5 }), ["x"]), /another run has this id/],
    [
      "a deleted run that is kept for a fork",
      async (to) => {
        await write(to, headOf("a"), ["1"]);
        await write(to, headOf("f", { ancestors: ["a"] }), ["f"]);
        await to.delete("a");
      },
      /deleted there/,
    ],
    [
      "a run that is driven there",
      async (to) => {
        await write(to, headOf("a"), ["1"]);
        await to.lease("a", "a driver", 60_000);
      },
      /driven there/,
    ],
  ];
  test.each(cases)("%s", async (_, prepare, why) => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    await write(from, headOf("a"), ["1", "2", "3"]);
    await write(from, headOf("b"), ["1"]);
    await write(from, headOf("c", { ancestors: ["a"] }), ["1"]);
    await prepare(to);
    const before = await to.read("a");
    const { refused, ...rest } = await copyRuns(from, to);
    expect(rest).toMatchObject({ runs: 1, batches: 1, skipped: 0 });
    expect(refused.map(({ runId, error }) => [runId, error.code])).toEqual([
      ["a", "conflict"],
      ["c", "conflict"],
    ]);
    expect(refused[0]?.error.message).toMatch(why);
    expect(refused[0]?.error.message).toMatch(/^Run a has 3 batches in the source and [12] in the target/);
    expect(refused[0]?.error.details).toMatchObject({ source: 3, target: before.length });
    expect(await to.read("a")).toEqual(before);
  });
});

describe("copyRuns", () => {
  test("skips a run that has gone on in the target", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    await write(from, headOf("a"), ["1", "2"]);
    await write(to, headOf("a"), ["1", "2", "3"]);
    expect(await copyRuns(from, to)).toMatchObject({ runs: 0, skipped: 1, refused: [] });
  });

  test("refuses what the target does not return as it was written", async () => {
    class Lossy extends MemoryStorage {
      override async read(locator: string, from?: number): Promise<ReadReply> {
        const reply = await super.read(locator, from);
        return { ...reply, batches: reply.batches.map((text) => text.replace("2", "two")) };
      }
    }
    class Forgetful extends MemoryStorage {
      override append(asked: AppendRequest): Promise<void> {
        return super.append({ ...asked, head: { ...asked.head, label: null } });
      }
    }
    class Blobless extends MemoryStorage {
      override append({ blobs: _, ...asked }: AppendRequest): Promise<void> {
        return super.append(asked);
      }
    }
    const from = new MemoryStorage();
    const head = headOf("a", { label: "a label" });
    await from.append({ ...request("a", 0, "1"), head, blobs: [{ name: "blob", body: "body" }] });
    await write(from, head, ["2"], 1);
    for (const [to, what] of [
      [new Lossy(), "batch 1"],
      [new Forgetful(), "label of its head"],
      [new Blobless(), "blob blob"],
    ] as const) {
      const { refused, runs } = await copyRuns(from, to);
      expect([runs, refused[0]?.error.code]).toEqual([0, "corrupt"]);
      expect(refused[0]?.error.message).toContain(what);
    }
    const mirror = new MemoryStorage();
    const other = await copyRuns(from, mirror, { readBack: new MemoryStorage() });
    expect(other.refused[0]?.error.message, "reads through the other object").toMatch(/batch 0|blob/);
  });

  test("copies the runs that a chosen fork reads, and nothing else", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    for (const name of ["a", "b", "other"]) await write(from, headOf(name), [name]);
    await write(from, headOf("fork", { ancestors: ["a", "b"], workflow: "chosen" }), ["fork"]);
    const progress: CopyProgress[] = [];
    const summary = await copyRuns(from, to, {
      filter: ({ workflow }) => workflow === "chosen",
      onProgress: (each) => void progress.push(each),
    });
    expect(summary).toEqual({ runs: 3, batches: 3, bytes: 6, skipped: 0, refused: [], active: [] });
    expect(progress).toEqual([{ done: 1, total: 1, batches: 3, bytes: 6 }]);
    expect((await headsOf(to)).map(({ locator }) => locator)).toEqual(["fork", "b", "a"]);
  });

  test("keeps the order of lists, over pages and with many at once", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    for (let n = 0; n < 1_203; n++) {
      // A fork that comes in a list before the run that it reads, as where clocks differ.
      const ancestors = n % 100 === 50 ? [`r${n - 40}`] : [];
      await write(from, headOf(`r${n}`, { ancestors }), [`${n}`, "x".repeat(n % 3)]);
    }
    const progress: CopyProgress[] = [];
    await copyRuns(from, to, { concurrency: 16, onProgress: (each) => void progress.push(each) });
    expect(await contentOf(to)).toEqual(await contentOf(from));
    expect(progress.map(({ done }) => done)).toEqual(Array.from({ length: 1_203 }, (_, n) => n + 1));
    expect(progress.at(-1)).toMatchObject({ total: 1_203, batches: 2_406 });
  });

  test("does not wait for ever where a list has a fork before the run that it reads", async () => {
    class Upside extends MemoryStorage {
      override async list(): Promise<{ runs: readonly RunHead[]; next: null }> {
        return { runs: (await super.list()).runs.toReversed(), next: null };
      }
    }
    const [from, to] = [new Upside(), new MemoryStorage()];
    await write(from, headOf("a"), ["a"]);
    await write(from, headOf("b", { ancestors: ["a"] }), ["b"]);
    await write(from, headOf("c", { ancestors: ["a", "b"] }), ["c"]);
    for (const concurrency of [1, 2, 3]) {
      const fresh = new MemoryStorage();
      expect(await copyRuns(from, fresh, { concurrency })).toMatchObject({ runs: 3, refused: [] });
    }
    expect(await copyRuns(from, to)).toMatchObject({ runs: 3, refused: [] });
  });

  test("creates runs in their order, however long the reads of each take", async () => {
    class Slow extends MemoryStorage {
      override async read(locator: string, from?: number): Promise<ReadReply> {
        for (let turns = Number(locator) % 7; turns < 7; turns++)
          await new Promise((resolve) => setImmediate(resolve));
        return super.read(locator, from);
      }
    }
    const [from, to] = [new Slow(), new MemoryStorage()];
    for (let n = 0; n < 40; n++) await write(from, headOf(`${n}`), [`${n}`]);
    await copyRuns(from, to);
    expect((await headsOf(to)).map(({ locator }) => Number(locator))).toEqual(
      Array.from({ length: 40 }, (_, n) => 39 - n),
    );
  });

  test("leaves a run that the target shows, though the source has deleted it meanwhile", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    const started = {
      kind: "run.started",
      runId: "a",
      nonce: "n",
      workflow: "sample",
      version: null,
      input: null,
      at: 1,
    };
    const first = JSON.stringify({ v: 4, by: "driver.1", entries: [started] });
    const next = JSON.stringify({ v: 4, by: "driver.2", entries: [{ kind: "run.cancelled", at: 2 }] });
    await write(from, headOf("a"), [first]);
    await copyRuns(from, to);
    await write(from, headOf("a"), [next], 1);
    await write(from, headOf("fork", { ancestors: ["a"] }), ["fork"]);
    await from.delete("a");
    expect(await copyRuns(from, to)).toMatchObject({ runs: 2, batches: 2, refused: [] });
    expect((await to.read("a")).batches).toEqual([first, next]);
    expect((await headsOf(to)).map(({ runId, status }) => `${runId} ${status}`)).toEqual([
      "fork running",
      "a cancelled",
    ]);
  });

  test("names runs that have a driver, and not those that are due, blocked or asleep", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    for (const name of ["driven", "due", "blocked"]) await write(from, headOf(name, { wakeAt: 0 }), [name]);
    await write(from, headOf("asleep", { wakeAt: Date.now() + 60_000 }), ["asleep"]);
    await write(from, headOf("ended", { status: "completed", wakeAt: null }), ["ended"]);
    await from.lease("driven", "a driver", 60_000);
    await from.lease("blocked", "a driver", 60_000);
    await from.note("blocked", { code: "diverged", message: "", since: 1, length: 1 });
    await from.release("blocked", "a driver", 60_000);
    expect((await copyRuns(from, to)).active).toEqual(["driven"]);
    expect(await to.lease("driven", "another driver", 1), "a lease is not copied").not.toBeNull();
  });

  test("refuses dropped chapters where the target cannot drop them", async () => {
    const from = new MemoryStorage();
    await write(from, headOf("a"), ["1"]);
    await write(from, headOf("a", { chapter: 1 }), ["2"], 1);
    await from.dropChapters("a", 1);
    const bound = new Proxy(new MemoryStorage(), {
      get: (target, name) =>
        name === "dropChapters" ? undefined : (Reflect.get(target, name) as () => void).bind(target),
    });
    const { refused } = await copyRuns(from, bound);
    expect(refused).toMatchObject([{ runId: "a", error: { code: "invalid-options" } }]);
    expect((await bound.read("a")).length).toBe(0);
  });

  test("stores a blob that a fork shares with its parent once", async () => {
    const large = Array.from({ length: 5_000 }, (_, n) => `word ${n}`).join(" ");
    const flow = durable("large", async (ctx) => {
      await ctx.step("make", () => large);
      await ctx.suspend("ok");
      return ctx.step("again", () => large);
    });
    const from = new RemoteStorage(new MemoryBucket());
    const bound = flow.with({ storage: from, secret });
    await bound.run(undefined, { id: "parent" });
    const fork = await bound.fork("parent", { after: "make", id: "fork" });
    await expect(fork.result()).rejects.toMatchObject({ code: "suspended" });
    await bound.resume(tokenOf(await fork.outcome()), 1);
    const bucket = countingBucket(new MemoryBucket());
    const to = new RemoteStorage(bucket);
    expect(await copyRuns(from, to)).toMatchObject({ runs: 2, refused: [] });
    expect(await contentOf(to)).toEqual(await contentOf(from));
    const slots = [...bucket.counts.writes.keys()].filter((key) => key.startsWith("runs/"));
    const texts = await Promise.all(slots.map((key) => bucket.get(key)));
    const holding = texts.filter((text) => (text ?? "").length > large.length);
    expect(holding).toHaveLength(1);
  });

  test("spreads the blobs of a long chapter over several appends", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    const body = "x".repeat(4 * 1024 * 1024);
    for (let n = 0; n < 12; n++)
      await from.append({ ...request("a", n, `${n}`), blobs: [{ name: `b${n}`, body }] });
    let largest = 0;
    const append = to.append.bind(to);
    to.append = (asked) => {
      const sizes = (asked.blobs ?? []).map((blob) => blob.body?.length ?? 0);
      largest = Math.max(
        largest,
        sizes.reduce((sum, size) => sum + size, 0),
      );
      return append(asked);
    };
    expect(await copyRuns(from, to)).toMatchObject({ runs: 1, batches: 12, refused: [] });
    expect(largest).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test("refuses options that it does not know", async () => {
    const storage = new MemoryStorage();
    for (const options of [{ filters: () => true }, { concurrency: 0 }])
      await expect(copyRuns(storage, storage, options)).rejects.toMatchObject({ code: "invalid-options" });
  });
});
