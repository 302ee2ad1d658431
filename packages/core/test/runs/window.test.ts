import { seeded } from "@durable/testing";
import { describe, expect, it } from "vitest";
import { Window } from "../../src/runs/window.ts";
import { numbered } from "../support/worker-runs.ts";

describe("a sliding window", () => {
  it("never grants more than its limit within its time, and one percent less at most", () => {
    const window = new Window(60_000, [10]);
    const granted: number[] = [];
    let text: string | null = null;
    for (let now = 1_000_000; now < 1_000_000 + 600_000; now += 137) {
      const state = window.read(text);
      if (window.take(state, now, [1])) granted.push(now);
      text = window.text(state);
    }
    for (const [n, at] of granted.entries())
      expect((granted[n + 10] ?? Infinity) - at).toBeGreaterThanOrEqual(60_000);
    expect(granted.length).toBeGreaterThanOrEqual(99);
    expect(text?.length, "a hundred parts at most").toBeLessThan(2_000);
  });

  it("gives turns one after the other, and no caller without a turn overtakes", () => {
    const window = new Window(10_000, [1]);
    const state = window.read(null);
    expect(window.begin(state, 1_000, false)).toBe(0);
    const [first, second] = [window.begin(state, 1_000, false), window.begin(state, 1_000, false)];
    expect(first).toBeGreaterThanOrEqual(10_000);
    expect(second - first).toBeGreaterThanOrEqual(10_000);
    const turn = 1_000 + first;
    expect(window.begin(state, turn, false), "without a turn").toBeGreaterThan(second - first);
    expect(window.begin(state, turn, true), "with its turn").toBe(0);
    expect(window.begin(state, turn, true), "too early for its turn").toBeGreaterThan(0);
  });

  it("says when amounts fit, and corrects what was taken", () => {
    const window = new Window(1_000, [5, 100]);
    const state = window.read(null);
    expect(window.take(state, 0, [1, 60])).toBe(true);
    expect(window.take(state, 0, [1, 60])).toBe(false);
    expect(window.wait(state, 0, [1, 60])).toBe(1_010);
    window.correct(state, 0, 0, [0, -50]);
    expect(window.take(state, 0, [1, 60])).toBe(true);
    expect(window.take(state, 5_000, [1, 900]), "alone").toBe(true);
  });

  it("takes back what was too much only as long as that is in the window", () => {
    const window = new Window(60_000, [10, 1_000]);
    const state = window.read(null);
    expect(window.take(state, 0, [1, 1_000])).toBe(true);
    window.correct(state, 50_000, 0, [0, -1_000]);
    expect(window.take(state, 50_000, [1, 1_000]), "free again at once").toBe(true);
    expect(window.take(state, 61_000, [1, 1_000]), "used by the one before").toBe(false);
    window.correct(state, 200_000, 50_000, [0, -1_000]);
    expect([window.take(state, 200_000, [1, 600]), window.take(state, 200_000, [1, 600])]).toEqual([
      true,
      false,
    ]);
  });

  it.each(numbered("schedule", 40))(
    "%s: no window has more than the limit, whatever was reserved",
    (name) => {
      const random = seeded(Number(name.slice("schedule-".length)) + 1);
      const perMs = random.pick([100, 1_000, 60_000]);
      const window = new Window(perMs, [Infinity, 1_000]);
      /** Calls: when they began, when they end, and what they reserved and used. */
      const calls: { at: number; until: number; reserved: number; used: number; settled: boolean }[] = [];
      let text: string | null = null;
      for (let now = 0; now < 12 * perMs; now += random.between(1, Math.ceil(perMs / 10))) {
        const state = window.read(text);
        for (const call of calls)
          if (!call.settled && call.until <= now) {
            window.correct(state, now, call.at, [0, call.used - call.reserved]);
            call.settled = true;
          }
        const reserved = random.between(1, 1_000);
        while (window.take(state, now, [1, reserved])) {
          const until = now + random.between(1, 3 * perMs);
          calls.push({ at: now, until, reserved, used: random.between(0, reserved), settled: false });
        }
        text = window.text(state);
      }
      for (const { at } of calls) {
        const within = calls.filter((call) => call.at >= at && call.at < at + perMs);
        expect(within.reduce((sum, call) => sum + call.used, 0)).toBeLessThanOrEqual(1_000);
      }
      expect(calls.length).toBeGreaterThan(12);
    },
  );

  it("gives turns that were given back to the next callers, in their order", () => {
    const window = new Window(10_000, [1]);
    const state = window.read(null);
    window.begin(state, 0, false);
    const turns = Array.from({ length: 5 }, () => window.begin(state, 0, false));
    for (const n of [3, 1]) window.giveBack(state, 0, turns[n] ?? 0);
    const next = Array.from({ length: 3 }, () => window.begin(state, 0, false));
    expect(next.slice(0, 2)).toEqual([turns[1], turns[3]]);
    expect(next[2]).toBeGreaterThan(turns[4] ?? 0);
    window.giveBack(state, 0, turns[0] ?? 0);
    expect(window.begin(state, (turns[0] ?? 0) + 1, false), "a free turn that has come").toBe(0);
    window.giveBack(state, 0, turns[1] ?? 0);
    expect(window.begin(state, turns[3] ?? 0, false), "one that has passed").toBeGreaterThan(10_000);
  });

  it.each(numbered("line", 40))("%s: runs come and go, and the rate holds", (name) => {
    const random = seeded(Number(name.slice("line-".length)) + 1);
    const [perMs, limit] = [random.pick([100, 10_000]), random.between(1, 5)];
    const window = new Window(perMs, [limit]);
    const begun: number[] = [];
    let waiting: { readonly turn: number; readonly asks: number }[] = [];
    let text: string | null = null;
    let gone = 0;
    for (let now = 0; now < 30 * perMs; now += random.between(1, Math.ceil(perMs / 10))) {
      const state = window.read(text);
      const rest: typeof waiting = [];
      for (const run of waiting) {
        if (random.chance(0.03)) {
          gone += 1;
          window.giveBack(state, now, run.turn);
        } else if (run.asks > now) rest.push(run);
        else {
          const wait = window.begin(state, now, true);
          if (wait === 0) begun.push(now);
          else rest.push({ ...run, asks: now + wait });
        }
      }
      if (random.chance(0.4)) {
        const wait = window.begin(state, now, false);
        if (wait === 0) begun.push(now);
        else rest.push({ turn: now + wait, asks: now + wait });
      }
      waiting = rest;
      text = window.text(state);
      expect(state.free.length).toBeLessThanOrEqual(100);
    }
    for (const [n, at] of begun.entries())
      expect((begun[n + limit] ?? Infinity) - at).toBeGreaterThanOrEqual(perMs);
    expect(gone).toBeGreaterThan(0);
  });
});
