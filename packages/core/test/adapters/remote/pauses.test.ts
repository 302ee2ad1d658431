import { createApp, durable } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { countingBucket, virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { keysOf, remote } from "./support/remote.ts";

const since = 1_000;

describe("paused workflows in a bucket", () => {
  test("no pause is lost to that of another operator whose request is slow", async () => {
    const bucket = new MemoryBucket();
    const gate = Promise.withResolvers<void>();
    const slow = Object.assign(new MemoryBucket(), {
      get: (key: string) => bucket.get(key),
      list: (query: { prefix: string }) => bucket.list(query),
      create: (key: string, text: string) => bucket.create(key, text),
      delete: (keys: readonly string[]) => bucket.delete(keys),
      put: async (key: string, text: string) => {
        await gate.promise;
        return bucket.put(key, text);
      },
    });
    const second = remote(slow).pause("billing", { workflow: "billing", reason: null, since });
    await new Promise((resolve) => void setTimeout(resolve, 5));
    await remote(bucket).pause("payout", { workflow: "payout", reason: "stop the money", since });
    gate.resolve();
    await second;
    const paused = await remote(bucket).paused();
    expect(paused.map(({ workflow }) => workflow).toSorted()).toEqual(["billing", "payout"]);
    await remote(bucket).pause("billing", null);
    expect(await remote(bucket).paused()).toEqual([{ workflow: "payout", reason: "stop the money", since }]);
  });

  test.each(["another pause", "an unpause"])(
    "a request that is lost and done later does not undo %s",
    async (then) => {
      const late: (() => Promise<unknown>)[] = [];
      const bucket = new MemoryBucket();
      let isLost = false;
      /** The connection is lost once for each key, and the request is done when the test says so. */
      const lost = new Set<string>();
      const once = <T>(key: string, work: () => Promise<T>): Promise<T> => {
        if (!isLost || lost.has(key)) return work();
        lost.add(key);
        late.push(work);
        return Promise.reject(new Error("lost"));
      };
      const shaky = Object.assign(new MemoryBucket(), {
        get: (key: string) => bucket.get(key),
        list: (query: { prefix: string }) => bucket.list(query),
        create: (key: string, text: string) => once(key, () => bucket.create(key, text)),
        delete: (keys: readonly string[]) => bucket.delete(keys),
        put: (key: string, text: string) => once(key, () => bucket.put(key, text)),
      });
      await remote(bucket).pause("payout", { workflow: "payout", reason: "the first", since });
      isLost = true;
      await remote(shaky).pause("payout", { workflow: "payout", reason: "the second", since });
      isLost = false;
      const last = then === "an unpause" ? null : { workflow: "payout", reason: "the third", since };
      await remote(bucket).pause("payout", last);
      expect(late).not.toEqual([]);
      await Promise.all(late.map((work) => work()));
      expect(await remote(bucket).paused()).toEqual(last === null ? [] : [last]);
    },
  );

  test("an object that is damaged is named", async () => {
    const bucket = new MemoryBucket();
    await remote(bucket).pause("payout", { workflow: "payout", reason: null, since });
    const [key = ""] = (await keysOf(bucket, "pause-records/")).slice(-1);
    for (const text of ["", "{", "null", "7", '{"v":3}']) {
      await bucket.put(key, text);
      await expect(remote(bucket).paused()).rejects.toMatchObject({
        code: "corrupt",
        message: expect.stringContaining(key),
      });
    }
  });

  test("costs one read where nothing was ever paused", async () => {
    const counting = countingBucket(new MemoryBucket());
    await remote(counting).paused();
    expect(counting.counts).toMatchObject({ gets: 1, lists: 0 });
  });
});

describe("a bucket that is down", () => {
  test.each(["at once", "after a second"])("and fails %s is given up after one deadline", async (how) => {
    const world = virtualWorld();
    let requests = 0;
    const refuse = async (): Promise<never> => {
      requests += 1;
      if (how !== "at once") await new Promise<void>((done) => void world.timer(1_000, done));
      throw new Error("The connection was refused.");
    };
    const storage = new RemoteStorage(
      { get: refuse, create: refuse, put: refuse, list: refuse, delete: refuse },
      { world },
    );
    const flow = durable("flow", () => Promise.resolve(1));
    const app = createApp({ world, storage, secret: "a secret for tests, of no worth", workflows: [flow] });
    const begin = world.now();
    await expect(world.run(app.run(flow, undefined, { id: "r" }))).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("The connection was refused."),
    });
    expect(world.now() - begin).toBeLessThan(25_000);
    expect(requests).toBeLessThanOrEqual(24);
    const before = world.now();
    await expect(world.run(app.get("r").outcome())).rejects.toMatchObject({ code: "storage-failed" });
    expect(world.now() - before, "known to be down").toBeLessThan(5_000);
  });
});
