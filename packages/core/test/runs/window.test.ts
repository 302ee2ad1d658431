import { describe, expect, it } from "vitest";
import { Window } from "../../src/runs/window.ts";

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
    expect(window.begin(state, 1_000, false).wait).toBe(0);
    const [first, second] = [window.begin(state, 1_000, false).wait, window.begin(state, 1_000, false).wait];
    expect(first).toBeGreaterThanOrEqual(10_000);
    expect(second - first).toBeGreaterThanOrEqual(10_000);
    const turn = 1_000 + first;
    expect(window.begin(state, turn, false).wait, "without a turn").toBeGreaterThan(second - first);
    expect(window.begin(state, turn, true).wait, "with its turn").toBe(0);
    expect(window.begin(state, turn, true).wait, "too early for its turn").toBeGreaterThan(0);
  });

  it("says when amounts fit, and corrects what was taken", () => {
    const window = new Window(1_000, [5, 100]);
    const state = window.read(null);
    expect(window.take(state, 0, [1, 60])).toBe(true);
    expect(window.take(state, 0, [1, 60])).toBe(false);
    expect(window.wait(state, 0, [1, 60])).toBe(1_010);
    window.add(state, 0, [0, -50]);
    expect(window.take(state, 0, [1, 60])).toBe(true);
    expect(window.take(state, 5_000, [1, 900]), "alone").toBe(true);
  });
});
