import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemWorld } from "../../src/ports/world.ts";

const day = 86_400_000;
const longest = 2 ** 31 - 1;
const timer = (ms: number, fire: () => void): (() => void) => systemWorld.timer(ms, fire);
const drain = (): Promise<void> => systemWorld.drain();
const turn = (): Promise<void> => systemWorld.turn();

/** Runs `then` where a host may call the engine from: each is another phase of the event loop. */
const phases: readonly (readonly [string, (then: () => void) => void])[] = [
  ["a microtask", (then) => queueMicrotask(then)],
  ["a promise", (then) => void Promise.resolve().then(then)],
  ["a tick", (then) => process.nextTick(then)],
  ["a timer", (then) => void setTimeout(then, 0)],
  ["the check phase", (then) => void setImmediate(then)],
];
const within = (enter: (then: () => void) => void): Promise<void> => new Promise((resolve) => enter(resolve));

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("timer", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  });

  it.each([
    ["a millisecond", 1],
    ["just below the longest", longest - 1],
    ["the longest", longest],
    ["one more", longest + 1],
    ["30 days", 30 * day],
    ["a year", 365 * day],
    ["ten years", 3_650 * day],
  ])("H39 fires once, on time: %s", (_, ms) => {
    const fire = vi.fn<() => void>();
    const start = Date.now();
    timer(ms, () => {
      expect(Date.now() - start).toBe(ms);
      fire();
    });
    vi.advanceTimersByTime(ms - 1);
    expect(fire).toHaveBeenCalledTimes(0);
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(100 * day);
    expect(fire).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("now, and a time that is past, are the next turn", () => {
    for (const ms of [0, -5, -Infinity]) {
      const fire = vi.fn<() => void>();
      timer(ms, fire);
      expect(fire).not.toHaveBeenCalled();
      vi.advanceTimersByTime(0);
      expect(fire).toHaveBeenCalledTimes(1);
    }
  });

  it("is called off in any of its pieces, and leaves nothing behind", () => {
    for (const wait of [0, longest - 1, longest, 2 * longest, 3 * longest + 4]) {
      const fire = vi.fn<() => void>();
      const cancel = timer(3 * longest + 5, fire);
      vi.advanceTimersByTime(wait);
      cancel();
      expect(vi.getTimerCount()).toBe(0);
      vi.advanceTimersByTime(5 * longest);
      expect(fire).not.toHaveBeenCalled();
    }
  });

  it("may be called off after it fired", () => {
    const fire = vi.fn<() => void>();
    const cancel = timer(5, fire);
    vi.advanceTimersByTime(5);
    expect(cancel).not.toThrow();
    expect(fire).toHaveBeenCalledTimes(1);
  });

  it("without end never fires", () => {
    const fire = vi.fn<() => void>();
    const cancel = timer(Infinity, fire);
    vi.advanceTimersByTime(2_000 * day);
    expect(fire).not.toHaveBeenCalled();
    cancel();
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("H39 a year does not fire at once on the real clock, and warns of nothing", async () => {
  const warned = vi.fn<(warning: Error) => void>();
  const fire = vi.fn<() => void>();
  process.on("warning", warned);
  const cancel = timer(365 * day, fire);
  await new Promise((resolve) => setTimeout(resolve, 30));
  cancel();
  process.off("warning", warned);
  expect([fire.mock.calls, warned.mock.calls]).toEqual([[], []]);
});

describe("drain", () => {
  it.each(phases)("settles after all microtasks, however long the chain: from %s", async (_, enter) => {
    await within(enter);
    let ran = 0;
    const chain = async (): Promise<void> => {
      for (let i = 0; i < 5_000; i++) {
        await Promise.resolve();
        ran += 1;
      }
    };
    void chain().then(chain);
    queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => (ran += 1))));
    await drain();
    expect(ran).toBe(10_001);
  });

  it("also waits for what awaits a promise of promises, an adopted one, and many at once", async () => {
    const seen: string[] = [];
    void (async () => seen.push(await Promise.resolve(Promise.resolve(Promise.resolve("nested")))))();
    void new Promise((resolve) => resolve(Promise.resolve())).then(() => seen.push("adopted"));
    void Promise.all(Array.from({ length: 100 }, (__, i) => Promise.resolve(i))).then(() => seen.push("all"));
    void Promise.race([new Promise(() => {}), Promise.reject(new Error("x"))]).catch(() => seen.push("race"));
    await drain();
    expect(seen.toSorted()).toEqual(["adopted", "all", "nested", "race"]);
  });

  it("each of many waits for what came before it", async () => {
    const order: number[] = [];
    const drains = [1, 2, 3].map(async (n) => {
      await drain();
      order.push(n);
      await drain();
      order.push(n + 10);
    });
    await Promise.all(drains);
    expect(order).toEqual([1, 2, 3, 11, 12, 13]);
  });
});

describe("turn", () => {
  it("settles after microtasks, and after timers that are due", async () => {
    await within((then) => void setImmediate(then));
    const seen: string[] = [];
    setTimeout(() => seen.push("timer"), 1);
    const until = performance.now() + 5;
    while (performance.now() < until);
    void drain().then(() => seen.push("drain"));
    await turn();
    expect(seen).toEqual(["drain", "timer"]);
  });

  it("lets two that were asked for in one turn settle in one turn", async () => {
    let turns = 0;
    const count = (): void => void (turns += 1);
    await turn();
    setImmediate(count);
    await Promise.all([turn(), turn(), turn()]);
    expect(turns).toBe(1);
  });
});

describe("clock, chance and voice", () => {
  it("ids are 26 base32 characters, never twice, and use every character", () => {
    const ids = Array.from({ length: 5_000 }, () => systemWorld.id());
    expect(new Set(ids).size).toBe(5_000);
    for (const id of ids) expect(id).toMatch(/^[a-z2-7]{26}$/);
    for (let at = 0; at < 26; at++) expect(new Set(ids.map((id) => id[at])).size).toBe(32);
  });

  it("now is the clock's time, random lies in [0, 1)", () => {
    const before = Date.now();
    const now = systemWorld.now();
    expect(now >= before && now <= Date.now() && Number.isInteger(now)).toBe(true);
    const draws = Array.from({ length: 1_000 }, () => systemWorld.random());
    expect(draws.every((draw) => draw >= 0 && draw < 1)).toBe(true);
    expect(new Set(draws).size).toBeGreaterThan(990);
  });

  it("tells once that the process is asked to end, unless that was called off", () => {
    const before = process.listeners("SIGTERM");
    const stop = vi.fn<() => void>();
    const off = systemWorld.onTerminate(stop);
    const off2 = systemWorld.onTerminate(vi.fn<() => void>());
    const added = process.rawListeners("SIGTERM").slice(before.length);
    expect(added).toHaveLength(2);
    off2();
    for (let i = 0; i < 2; i++) added[0]?.("SIGTERM");
    expect(stop).toHaveBeenCalledTimes(1);
    off();
    expect(process.listeners("SIGTERM")).toEqual(before);
  });

  it("a warning says who speaks", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    systemWorld.warn("run r-1 stopped");
    expect(warn).toHaveBeenCalledExactlyOnceWith("durable: run r-1 stopped");
  });
});
