import { createApp, createWorker, durable, type MemoryStorage, type Storage } from "@durable/core";
import type { WorkerPurge } from "@durable/core/types";
import { faultyStorage } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { lab, type Lab } from "./support/behaviour-lab.ts";
import { bare, open } from "./support/worker-lab.ts";

const hour = 3_600_000;
const quick = durable("quick", (_ctx, input: string) => input);

async function fill(on: Lab, count: number, from = 0): Promise<void> {
  const flow = quick.with({ ...on });
  for (let n = 0; n < count; n++) await on.world.run(flow.run("a", { id: `q${from + n}` }));
}

async function size({ storage }: Lab): Promise<number> {
  return (await storage.list({ limit: 1_000 })).runs.length;
}

const purge: WorkerPurge = { every: "1 hour", olderThan: "1 day" };

describe("a worker with purge", () => {
  test("deletes old runs in the background, again and again", async () => {
    const on = lab();
    await fill(on, 250);
    // It looks for due runs seldom: there are none.
    open(on, [quick], { purge, interval: "1m" });
    await on.world.advance(2 * hour);
    expect(await size(on), "they are young").toBe(250);
    await on.world.advance(25 * hour);
    expect(await size(on)).toBe(0);
    await fill(on, 3, 1_000);
    await on.world.advance(27 * hour);
    expect(await size(on)).toBe(0);
    expect(on.world.warnings).toEqual([]);
  });

  test("rests between batches", async () => {
    const on = lab();
    await fill(on, 300);
    await on.world.advance(2 * 24 * hour);
    const at: number[] = [];
    const memory = on.storage as MemoryStorage;
    const storage: Storage = {
      ...bare(memory),
      deleteUnchanged: async (heads) => {
        at.push(on.world.now());
        await new Promise<void>((resolve) => void on.world.timer(100, resolve));
        return memory.deleteUnchanged(heads);
      },
    };
    open(on, [quick], { purge, storage });
    await on.world.advance(hour);
    expect(at).toHaveLength(3);
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(500);
    expect(await size(on)).toBe(0);
  });

  test("stops in the middle, and leaves no timer", async () => {
    const on = lab();
    await fill(on, 300);
    await on.world.advance(2 * 24 * hour);
    let asked = 0;
    const memory = on.storage as MemoryStorage;
    const storage: Storage = {
      ...bare(memory),
      deleteUnchanged: async (heads) => {
        asked += 1;
        if (asked === 1) void worker.stop();
        return memory.deleteUnchanged(heads);
      },
    };
    const { worker } = open(on, [quick], { purge, storage });
    await on.world.advance(5 * hour);
    expect(asked).toBe(1);
    expect(await size(on)).toBe(200);
    await on.world.run(worker.stop());
  });

  test("refuses options that would delete everything, when it is created", () => {
    const on = lab();
    const app = createApp({ ...on, workflows: [quick] });
    const create = (options: unknown) => () => createWorker(app, { purge: options as WorkerPurge });
    expect(create({ every: "1 hour" })).toThrow(/neither `olderThan` nor `keep`/);
    expect(create({ every: "now and then", olderThan: 1 })).toThrow(/every is "now and then"/);
    expect(create({ olderThan: 1, dryRun: true })).toThrow(/has no option "dryRun"/);
    expect(create({ olderThan: 1, oftener: true })).toThrow(/has no option "oftener"/);
  });

  test("reports a purge that fails, and tries again in the next period", async () => {
    const on = lab();
    await fill(on, 3);
    await on.world.advance(2 * 24 * hour);
    const storage = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation, index) => (operation === "delete" && index === 1 ? "lose-request" : null),
    });
    open(on, [quick], { purge, storage });
    await on.world.advance(3 * hour);
    expect(on.world.warnings).toEqual([
      expect.stringMatching(/^the purge in the background failed, .* The connection was lost during delete/),
    ]);
    expect(await size(on)).toBe(0);
  });

  test.each(["app", "worker"])("reports it through the logger of the %s", async (who) => {
    const on = lab();
    const said: string[] = [];
    const logger = { debug() {}, info() {}, warn: (line: string) => void said.push(line), error() {} };
    await fill(on, 1);
    await on.world.advance(2 * 24 * hour);
    const storage = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation) => (operation === "delete" ? "lose-request" : null),
    });
    const app = createApp({ ...on, storage, workflows: [quick], ...(who === "app" && { logger }) });
    const worker = createWorker(app, { purge, ...(who === "worker" && { logger }) });
    await on.world.advance(2 * hour);
    await on.world.run(worker.stop());
    expect(said.length).toBeGreaterThan(0);
    for (const line of said) expect(line).toMatch(/the purge in the background failed/);
  });
});

describe("a fleet", () => {
  const lists = (storage: Storage): { storage: Storage; count: () => number } => {
    let count = 0;
    const memory = storage as MemoryStorage;
    return {
      count: () => count,
      storage: {
        ...bare(storage),
        takeTurn: (...asked) => memory.takeTurn(...asked),
        list: (query) => {
          if (query?.endedBefore !== undefined) count += 1;
          return storage.list(query);
        },
      },
    };
  };

  test("purges once in each period, whichever worker does it", async () => {
    const on = lab();
    const { storage, count } = lists(on.storage);
    const workers = Array.from(
      { length: 5 },
      () => open(on, [quick], { purge, storage, interval: "1m" }).worker,
    );
    const hours = inject("full") ? 24 : 6;
    await on.world.advance(hours * hour);
    // Periods are 54 to 66 minutes long, and a turn lasts for 51.
    expect(count()).toBeGreaterThanOrEqual(Math.floor((hours * 20) / 24));
    expect(count()).toBeLessThanOrEqual(Math.ceil((hours * 29) / 24));
    const before = count();
    for (const worker of workers.slice(1)) await on.world.run(worker.stop());
    await on.world.advance(hours * hour);
    expect(count() - before).toBeGreaterThanOrEqual(Math.floor((hours * 20) / 24));
  });

  test("purges in each worker where the storage has no turns, which is harmless", async () => {
    const on = lab();
    await fill(on, 20);
    await on.world.advance(2 * 24 * hour);
    const storage = { ...bare(on.storage) };
    for (let n = 0; n < 3; n++) open(on, [quick], { purge, storage });
    await on.world.advance(2 * hour);
    expect(await size(on)).toBe(0);
    expect(on.world.warnings).toEqual([]);
  });
});
