import type { World } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { seeded } from "@durable/testing";
import { expect, inject, test } from "vitest";
import type { Call } from "../../src/engine/registry.ts";
import { Scope } from "../../src/engine/scope.ts";
import { Timers } from "../../src/engine/timers.ts";

/** Timers with a clock that the test sets; `armed` are the alarms that are set now. */
function made() {
  const clock = { now: 1_000, set: 0, armed: new Set<number>() };
  const world: World = {
    ...systemWorld,
    now: () => clock.now,
    timer: (ms) => {
      clock.set += 1;
      const at = clock.now + ms;
      clock.armed.add(at);
      return () => clock.armed.delete(at);
    },
  };
  return { clock, timers: new Timers(world, () => {}) };
}

function callOf(due: () => void = () => {}): Call {
  return {
    key: "k",
    kind: "sleep",
    settled: false,
    scope: new Scope(),
    after: 0,
    entered: { key: "k", after: 0, record: undefined, foreign: false },
    settle: () => {},
    begin: () => {},
    due,
  };
}

/** A time that counts how often it is compared. */
function countedTime(at: number, count: () => void): number {
  return { valueOf: () => (count(), at) } as unknown as number;
}

const size = inject("full") ? 8_000 : 1_000;

/** Comparisons of times until `count` waits are open, and until half of them are cancelled and one is due. */
function comparisons(count: number): number {
  let compared = 0;
  const { clock, timers } = made();
  const random = seeded(7);
  const calls = Array.from({ length: count }, () => callOf());
  for (const call of calls) {
    const at = countedTime(2_000 + random.between(0, 10_000), () => (compared += 1));
    timers.wait(call, at, { outside: random.between(0, 1) === 0 });
  }
  for (const call of calls.slice(count / 2)) timers.cancel(call);
  timers.endsWithin(60_000);
  timers.stops();
  clock.now = 2_000;
  timers.fire();
  return compared;
}

test(`a wait compares few times with others, with ${size} open waits and with ${size * 2}`, () => {
  const once = comparisons(size) / size;
  const twice = comparisons(size * 2) / (size * 2);
  expect(once).toBeLessThan(100);
  expect(twice / once).toBeLessThan(1.3);
});

test("one alarm is set at a time: for the earliest wait that is still open", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seeded(seed);
    const { clock, timers } = made();
    const open = new Map<Call, { at: number | null; recheckAt: number | null; outside: boolean }>();
    const calls = Array.from({ length: 12 }, () => callOf());
    for (let round = 0; round < 150; round++) {
      const call = calls[random.between(0, 11)]!;
      if (random.between(0, 2) === 0) {
        timers.cancel(call);
        open.delete(call);
      } else {
        const time = (): number | null => (random.between(0, 3) === 0 ? null : 2_000 + random.between(0, 30));
        const wait = { at: time(), recheckAt: time(), outside: random.between(0, 1) === 0 };
        timers.wait(call, wait.at, wait);
        open.set(call, wait);
      }
      const first = (times: (number | null)[]): number | null => {
        const known = times.filter((at) => at !== null);
        return known.length === 0 ? null : Math.min(...known);
      };
      const waits = [...open.values()];
      const wakeAt = first(waits.map(({ at }) => at));
      const recheckAt = first(waits.map((wait) => wait.recheckAt));
      const earliest = first([wakeAt, recheckAt]);
      expect(timers.waiting, `seed ${seed}, round ${round}`).toBe(open.size);
      expect(timers.stops(), `seed ${seed}, round ${round}`).toEqual({ wakeAt, recheckAt });
      expect([...clock.armed], `seed ${seed}, round ${round}`).toEqual(earliest === null ? [] : [earliest]);
      const ends = first(waits.filter(({ outside }) => !outside).map(({ at }) => at));
      expect(timers.endsWithin(1_015)).toBe(ends !== null && ends <= 2_015);
    }
    expect(clock.set).toBeLessThanOrEqual(150);
  }
});

test("calls are due in the order in which their waits began, not in that of their times", () => {
  const { clock, timers } = made();
  const order: string[] = [];
  const [a, b, c] = ["a", "b", "c"].map((name) => callOf(() => order.push(name)));
  timers.wait(a!, 30);
  timers.wait(b!, null, { outside: true, recheckAt: 20 });
  timers.wait(c!, 10, { outside: true, recheckAt: 5 });
  timers.wait(a!, 40);
  clock.now = 50;
  timers.fire();
  timers.fire();
  expect(order).toEqual(["a", "b", "c"]);
  expect(timers.waiting).toBe(0);
});

test("a call that waits again while it is due is due once a time", () => {
  const { clock, timers } = made();
  let times = 0;
  const call = callOf(() => {
    if (++times > 5) throw new Error("It is due again and again.");
    timers.wait(call, 0);
  });
  timers.wait(call, 0);
  timers.fire();
  expect(times).toBe(1);
  expect([...clock.armed], "the alarm for it is set").toEqual([0]);
  timers.fire();
  expect(times).toBe(2);
});

test("a call that another one cancels, or whose scope closes, is not due", () => {
  const { clock, timers } = made();
  const order: string[] = [];
  const second = callOf(() => order.push("second"));
  const third = callOf(() => order.push("third"));
  const first = callOf(() => {
    order.push("first");
    timers.cancel(second);
    third.scope.close("closed");
  });
  for (const call of [first, second, third]) timers.wait(call, 10);
  clock.now = 10;
  timers.fire();
  expect(order).toEqual(["first"]);
  expect(timers.waiting).toBe(0);
});
