/** A change of any run is read by a list that is open well within two seconds, whenever it comes, and whenever the list was read before. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { throttled } from "../page/lib/throttle.ts";
import { Live } from "../src/live.ts";
import { secret } from "./support/journals.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const flow = durable("flow", () => Promise.resolve(1));

test("a change is read a second later at most, at any time between two looks and two reads", async () => {
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow], bind: false });
  const reads: number[] = [];
  // As the list of runs: a second between two reads.
  const list = throttled(
    () => reads.push(performance.now()),
    () => 1_000,
  );
  const stop = new Live(app).watchRuns(list.call);
  const took: number[] = [];
  for (let n = 0; n < 200; n++) {
    // At every moment after a look, and, for each second change, at every moment after a read that something else has asked for.
    await vi.advanceTimersByTimeAsync(2_000 + ((n * 53) % 1_000));
    if (n % 2 === 0) list.call();
    await vi.advanceTimersByTimeAsync((n * 29) % 1_000);
    await app.start(flow, undefined, { id: `r${n}`, drive: false });
    const changed = performance.now();
    await vi.advanceTimersByTimeAsync(3_000);
    took.push((reads.find((at) => at > changed) ?? Infinity) - changed);
  }
  // The time of the fake clock. What is left of two seconds is for the look of the server and for the read of the list.
  expect(Math.max(...took)).toBeLessThanOrEqual(1_100);
  expect(Math.max(...took)).toBeGreaterThan(900);
  stop();
  list.stop();
  await app.close();
});
