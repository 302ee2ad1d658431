import { createApp, durable } from "@durable/core";
import { MemoryBucket, RemoteStorage, type Bucket } from "@durable/core/remote";
import { virtualWorld } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { createBudget, createConsumer, r2Bucket, type RunMessage } from "../src/index.ts";

const secret = "a secret for tests, of no worth";
const minute = 60_000;

/** What the free plan allows in one invocation. */
const most = 50;

/** Invocations of a Worker on the free plan: request 51 of each is refused. */
function stage() {
  const world = virtualWorld();
  const bucket = new MemoryBucket();
  const queued: RunMessage[] = [];
  const requests: number[] = [];
  const quick = durable("quick", () => Promise.resolve("done"));
  const slow = durable("slow", (ctx) => ctx.suspend("ask"));
  const appOf = (on: Bucket) =>
    createApp({
      world,
      storage: new RemoteStorage(on, { world }),
      secret,
      workflows: [quick, slow],
      patience: 0,
    });
  const app = appOf(bucket);
  const invoke = async (
    work: (consumer: ReturnType<typeof createConsumer>) => Promise<unknown>,
  ): Promise<void> => {
    let used = 0;
    const use = (): void => {
      used += 1;
      if (used > most) throw new Error("Too many subrequests by single Worker invocation.");
    };
    const asked = async <T>(request: () => Promise<T>): Promise<T> => (use(), request());
    const refusing: Bucket = {
      get: (key) => asked(() => bucket.get(key)),
      create: (key, text) => asked(() => bucket.create(key, text)),
      put: (key, text) => asked(() => bucket.put(key, text)),
      list: (query) => asked(() => bucket.list(query)),
      delete: (keys) => asked(() => bucket.delete(keys)),
    };
    const queue = {
      send: (message: RunMessage) => asked(() => Promise.resolve(void queued.push(message))),
      sendBatch: (messages: Iterable<{ readonly body: RunMessage }>) =>
        asked(() => Promise.resolve(void queued.push(...[...messages].map(({ body }) => body)))),
    };
    const budget = createBudget();
    const consumer = createConsumer(appOf(budget.count(refusing)), { queue, budget });
    await world.run(work(consumer));
    requests.push(used);
  };
  /** One minute: the cron trigger, and all messages of the sweep itself. Returns the runs that got a message. */
  const sweep = async (): Promise<string[]> => {
    await invoke((consumer) => consumer.scheduled());
    const found: string[] = [];
    for (let message = queued.shift(); message !== undefined; message = queued.shift()) {
      if (message.type === "advance") found.push(message.runId);
      else {
        const body = message;
        const replies: string[] = [];
        const ack = () => void replies.push("ack");
        const retry = () => void replies.push("retry");
        await invoke((consumer) =>
          consumer.queue({ messages: [{ id: "m", body, attempts: 1, ack, retry }] }),
        );
        expect(replies).toEqual(["ack"]);
      }
    }
    return found;
  };
  const record = async (count: number, prefix: string): Promise<string[]> => {
    const ids = Array.from({ length: count }, (_, i) => `${prefix}${i}`);
    for (const id of ids) await world.run(app.start(quick, undefined, { id, drive: false }));
    return ids;
  };
  /** Index objects of runs that have ended since, as an interrupted process leaves them. */
  const leave = async (count: number): Promise<void> => {
    const ids = await record(count, "old");
    const { keys } = await bucket.list({ prefix: "index/running/" });
    for (const id of ids) await world.run(app.advance(id));
    for (const key of keys) await bucket.create(key, "");
  };
  /** Runs that other drivers hold for an hour. */
  const hold = async (count: number): Promise<void> => {
    const storage = new RemoteStorage(bucket, { world });
    const [now, base] = [world.now(), { workflow: "quick", status: "running", wakeAt: 0, steps: 0 } as const];
    for (let n = 0; n < count; n++) {
      const [runId, times] = [`held${n}`, { createdAt: now - n, updatedAt: now, dueSince: now }];
      const head = { ...base, ...times, runId, locator: runId, label: null, parent: null, ancestors: [] };
      const lease = { owner: "another", ttlMs: 60 * minute };
      await world.run(storage.append({ locator: runId, position: 0, batch: runId, head, lease }));
    }
  };
  const indexed = async (): Promise<number> =>
    (await bucket.list({ prefix: "index/running/", limit: 2_000 })).keys.length;
  return { world, bucket, app, slow, quick, queued, requests, invoke, sweep, record, leave, hold, indexed };
}

describe("a sweep of at most 50 requests", () => {
  test.each([3, 60])("finds due runs, and starts scheduled ones, %i of sixty schedules", async (often) => {
    const { world, app, quick, sweep, record, requests } = stage();
    for (let i = 0; i < 60; i++)
      await world.run(app.schedule(`each-${i}`, quick, { every: i < often ? "10 minutes" : "1 week" }));
    const ids = await record(25, "due");
    const found: string[] = [];
    for (let minutes = 0; minutes < 40; minutes++) {
      await world.advance(minute);
      found.push(...(await sweep()));
      for (const id of found) if (!ids.includes(id)) await world.run(app.advance(id));
    }
    expect(new Set(found).size).toBeGreaterThanOrEqual(ids.length);
    const { schedules } = await world.run(app.schedules.list());
    expect(schedules.filter(({ lastRunId }) => lastRunId !== null).length).toBeGreaterThanOrEqual(
      Math.min(often, 20),
    );
    expect(Math.max(...requests)).toBeLessThanOrEqual(most);
  });

  test.each([1, 25, 150, 1_000])(
    "finds %i due runs behind 50 leftovers, each once",
    async (count) => {
      const { world, sweep, record, leave, indexed, requests } = stage();
      await leave(50);
      const ids = await record(count, "due");
      const found: string[] = [];
      for (let minutes = 0; minutes < 4; minutes++) {
        await world.advance(minute);
        found.push(...(await sweep()));
      }
      expect(found.toSorted()).toEqual(ids.toSorted());
      expect(Math.max(...requests)).toBeLessThanOrEqual(most);
      expect(await indexed(), "leftovers are removed").toBe(count);
    },
    120_000,
  );

  const held = inject("full") ? 10_000 : 1_500;
  test(`finds 60 due runs beside ${held} that are driven: a list for a thousand of those, and no read`, async () => {
    const { world, sweep, record, hold, requests } = stage();
    await hold(held);
    await world.advance(minute);
    requests.length = 0;
    expect(await sweep()).toEqual([]);
    // Besides the markers: timers, schedules, pauses, the layout.
    expect(requests).toHaveLength(1);
    expect(requests[0]).toBeLessThanOrEqual(held / 1_000 + 6);
    const ids = await record(60, "due");
    await world.advance(minute);
    expect((await sweep()).toSorted()).toEqual(ids.toSorted());
    expect(Math.max(...requests)).toBeLessThanOrEqual(most);
  }, 300_000);

  test("sends no message again for a run that waits in the queue, until it was quiet for minutes", async () => {
    const { world, sweep, record } = stage();
    await record(20, "due");
    const sent: number[] = [];
    for (let minutes = 0; minutes < 12; minutes++) {
      sent.push((await sweep()).length);
      await world.advance(minute);
    }
    // Not in the first minute, because the message of the start is under way.
    expect(sent).toEqual([0, 20, 0, 0, 0, 0, 20, 0, 0, 0, 0, 20]);
  });

  test("by hand finds all that is due, each time", async () => {
    const { world, app, record } = stage();
    await record(3, "due");
    const sent: RunMessage[] = [];
    const queue = { send: (message: RunMessage) => Promise.resolve(void sent.push(message)) };
    const consumer = createConsumer(app, { queue, sweepSeconds: 0 });
    expect(await world.run(consumer.scheduled())).toBe(3);
    expect(await world.run(consumer.scheduled())).toBe(3);
    expect(sent).toHaveLength(6);
  });

  test("finds a run that was asked for six times while it waits", async () => {
    const { world, app, slow, sweep } = stage();
    for (let i = 0; i < 6; i++) await world.run(app.run(slow, undefined, { id: "asked" }));
    const outcome = await world.run(app.get("asked").outcome());
    if (outcome.status !== "suspended") throw new Error(outcome.status);
    await world.run(app.resume(outcome.waiting[0]!.token, "yes", { drive: false }));
    await world.advance(minute);
    expect(await sweep()).toEqual(["asked"]);
  });
});

test("a Worker that has used up its subrequests is not asked again", async () => {
  let asked = 0;
  const refuse = (): never => {
    asked += 1;
    throw new Error("Too many subrequests by single Worker invocation.");
  };
  const world = virtualWorld();
  const storage = new RemoteStorage(r2Bucket({ get: refuse, put: refuse, list: refuse, delete: refuse }), {
    world,
  });
  const app = createApp({ world, storage, secret, workflows: [durable("f", () => Promise.resolve(1))] });
  await expect(world.run(app.run("f", undefined, { id: "r" }))).rejects.toMatchObject({
    message: expect.stringContaining("Too many subrequests"),
  });
  expect(asked).toBeLessThanOrEqual(3);
});
