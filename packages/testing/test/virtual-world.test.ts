import { createApp, createWorker, durable, MemoryStorage, type World } from "@durable/core";
import { virtualWorld } from "@durable/testing";
import { expect, test } from "vitest";

test("a world waits for real work without a virtual timer, such as work in threads", async () => {
  const world = virtualWorld();
  const started = world.now();
  const late = new Promise<string>((resolve) => setTimeout(resolve, 300, "late"));
  expect(await world.run(late)).toBe("late");
  expect(world.now()).toBe(started);
});

test("a world gives up a promise that nothing can settle", async () => {
  await expect(virtualWorld().run(new Promise(() => {}))).rejects.toThrow(
    "Nothing is left that could settle",
  );
});

const day = 86_400_000;
const secret = "a secret for tests, of no worth";

/** A world that counts the timers that fire, and a storage on it. */
function counted() {
  const world = virtualWorld();
  const count = { fired: 0 };
  const counting: World = {
    ...world,
    timer: (ms, fire) =>
      world.timer(ms, () => {
        count.fired += 1;
        fire();
      }),
  };
  return {
    world,
    count,
    on: { world: counting, storage: new MemoryStorage({ now: () => world.now() }), secret },
  };
}

const sleeper = durable("sleeper", async (ctx, days: number) => {
  await ctx.sleep(days * day);
  return ctx.now();
});

test.each([1, 30, 3_000])("a sleep of %s days that parks costs one timer, not its span", async (days) => {
  const { world, count, on } = counted();
  const started = world.now();
  const run = await world.run(sleeper.with(on).start(days, { id: "r" }));
  expect(await world.run(run.result())).toBe(started + days * day);
  expect(count.fired).toBe(1);
});

test("a wait with a deadline, and time that nothing waits for, cost as little", async () => {
  const { world, count, on } = counted();
  const asks = durable("asks", (ctx) => ctx.suspend("ok", { timeout: 30 * day, fallback: "late" })).with(on);
  const run = await world.run(asks.start(undefined, { id: "r" }));
  expect(await world.run(run.result({ wait: true }))).toBe("late");
  expect(count.fired).toBe(1);
  await world.advance(3_000 * day);
  expect(count.fired).toBe(1);
});

test("ten sleeps of three days by one worker: only its polls, and one timer each, fire", async () => {
  const { world, count, on } = counted();
  const app = createApp({ ...on, workflows: [sleeper] });
  for (let n = 0; n < 10; n++) await app.start("sleeper", 3, { id: `r${n}`, drive: false });
  const worker = createWorker(app, { interval: "1h" });
  await world.advance(3 * day + 7_200_000);
  expect((await app.list({ status: "completed" })).runs).toHaveLength(10);
  await world.run(worker.stop());
  // For due runs, and as often for schedules.
  const polls = 2 * (3 * 24 + 2);
  expect(count.fired).toBeLessThan(polls + 50);
});

test("many timers fire in order, whatever the order in which they were set, and cancelled ones do not", async () => {
  const world = virtualWorld({ start: 0 });
  const fired: number[] = [];
  const total = 30_000;
  const cancels = new Map<number, () => void>();
  for (let i = 0; i < total; i++) {
    // Each time is used by two timers, which fire in the order in which they were set.
    const n = (i * 7_919) % total;
    cancels.set(
      n,
      world.timer(Math.floor(n / 2), () => void fired.push(n)),
    );
  }
  const set = [...cancels.keys()];
  for (const n of set) if (n % 5 === 0) cancels.get(n)?.();
  const started = process.threadCpuUsage();
  await world.advance(total);
  // Sorted by time; `set` has the order of setting, and the sort is stable.
  const kept = set.filter((n) => n % 5 !== 0).toSorted((a, b) => Math.floor(a / 2) - Math.floor(b / 2));
  expect(fired).toEqual(kept);
  for (const cancel of cancels.values()) cancel();
  // Far below what a search of all timers at each of them would take.
  expect(process.threadCpuUsage(started).user).toBeLessThan(20_000_000);
}, 300_000);

test("a sleep that is held in memory renews its lease, and nothing else fires", async () => {
  const { world, count, on } = counted();
  const held = sleeper.with({ ...on, patience: 2 * day, lease: "30s" });
  expect(await world.run(held.run(1, { id: "r" }))).toMatchObject({ status: "completed" });
  expect(count.fired).toBeLessThanOrEqual(day / 10_000 + 3);
});
