/** When an idle process claims a run of which another process says that it is due. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DueWaits } from "../src/due.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A process that waits for runs of one workflow, with the number of queries that it sent. */
function idle(dueMs: number | null = null, version?: readonly string[]) {
  const asked = { count: 0 };
  const waits = new DueWaits({
    dueIn: () => Promise.resolve((asked.count += 1) < 0 ? 0 : dueMs),
    pollMs: () => 3_600_000,
    haveDied: () => false,
  });
  const state = { released: 0 };
  const wait = async (): Promise<void> => {
    void waits
      .whenDue({ workflow: ["w"], version }, new AbortController().signal)
      .then(() => (state.released += 1));
    await vi.advanceTimersByTimeAsync(0);
  };
  /** Another process was quicker, so often. */
  const beaten = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) {
      await wait();
      waits.announced("w", `beaten ${n}`, 0, false);
      await vi.advanceTimersByTimeAsync(1_000);
      waits.taken([`beaten ${n}`]);
      waits.claimed(false);
    }
    state.released = 0;
    asked.count = 0;
  };
  return { waits, state, asked, wait, beaten };
}

test("a process that is alone claims at once, without a query", async () => {
  const { waits, state, asked, wait } = idle();
  await wait();
  waits.announced("w", "a", 0, false);
  await vi.advanceTimersByTimeAsync(0);
  expect([state.released, asked.count]).toEqual([1, 1]);
});

test("one of many waits, and leaves a run that another one takes meanwhile", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.9);
  const { waits, state, wait, beaten } = idle();
  await beaten(12);
  await wait();
  waits.announced("w", "a", 0, false);
  waits.announced("w", "b", 0, false);
  await vi.advanceTimersByTimeAsync(800);
  waits.taken(["a"]);
  expect(state.released).toBe(0);
  await vi.advanceTimersByTimeAsync(200);
  // Nobody took the other one.
  expect(state.released).toBe(1);
  await wait();
  waits.announced("w", "c", 0, false);
  waits.taken(["c"]);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(state.released).toBe(1);
});

test("a run that was taken is asked for again when its claim may have ended", async () => {
  const { waits, state, asked, wait, beaten } = idle();
  vi.spyOn(Math, "random").mockReturnValue(0.9);
  await beaten(5);
  await wait();
  waits.announced("w", "a", 0, false);
  waits.taken(["a"]);
  await vi.advanceTimersByTimeAsync(4_900);
  expect(asked.count).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect([asked.count, state.released]).toEqual([2, 0]);
});

test("a process that finds runs waits less and less, and its own runs never wait", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  const { waits, state, wait, beaten } = idle();
  await beaten(12);
  await wait();
  waits.announced("w", "own", 0, true);
  await vi.advanceTimersByTimeAsync(0);
  expect(state.released).toBe(1);
  for (let n = 0; n < 6; n++) {
    await wait();
    waits.announced("w", `${n}`, 0, false);
    await vi.advanceTimersByTimeAsync(1_000);
    waits.claimed(true);
  }
  await wait();
  const { released } = state;
  waits.announced("w", "last", 0, false);
  await vi.advanceTimersByTimeAsync(0);
  expect(state.released).toBe(released + 1);
});

test("a run that is due later is asked for then, and costs nothing before", async () => {
  const { waits, state, asked, wait } = idle();
  await wait();
  waits.announced("w", "a", 60_000, false);
  waits.announced("w", "b", 90_000, false);
  waits.announced("other", "c", 0, false);
  await vi.advanceTimersByTimeAsync(59_000);
  expect([asked.count, state.released]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(1_100);
  expect(asked.count).toBe(2);
});

test("workers of some versions ask first, because an announcement has no version", async () => {
  const { waits, state, asked, wait } = idle(null, ["2"]);
  await wait();
  waits.announced("w", "a", 0, false);
  await vi.advanceTimersByTimeAsync(0);
  expect([asked.count, state.released]).toEqual([2, 0]);
});
