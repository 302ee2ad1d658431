/** Many schedules that are due at the same time, and a worker that stops while it waits for one. */

import { createWorker } from "@durable/core";
import { describe, expect, test } from "vitest";
import { pause } from "../support/behaviour-lab.ts";
import { minuteMs, scheduleLab } from "./lab.ts";

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `s${n}`);

describe("all that are due", () => {
  test.each([1, 2, 3, 7, 8, 9, 20])("%i of them start in one look, once each", async (count) => {
    // Which of them is first is drawn.
    for (let round = 1; round <= 5; round++) {
      const { world, open, digest, to } = scheduleLab("2026-11-16T08:00Z", round);
      const app = open();
      for (const name of names(count)) await app.schedule(name, digest, { cron: "0 9 * * *" });
      await to("2026-11-16T09:00Z");
      const { scheduled } = await world.run(app.sweep());
      const expected = names(count).map((name) => `${name}-20261116T090000Z`);
      expect(scheduled.toSorted()).toEqual(expected.toSorted());
    }
  });

  test("are brought up to date side by side, and not all at the same time", async () => {
    const { world, open, digest, storage, to } = scheduleLab();
    const app = open();
    for (const name of names(40)) await app.schedule(name, digest, { cron: "0 9 * * *" });
    await to("2026-11-16T09:00Z");
    const { schedules } = storage;
    const put = schedules.put.bind(schedules);
    let [now, most] = [0, 0];
    schedules.put = async (...args) => {
      most = Math.max(most, ++now);
      await pause(world, 10);
      now -= 1;
      return put(...args);
    };
    expect((await world.run(app.sweep())).scheduled).toHaveLength(40);
    expect(most).toBe(8);
  });
});

test("a worker that is stopped does not wait for its next look at the schedules", async () => {
  const { world, open, digest } = scheduleLab();
  const app = open();
  await app.schedule("daily", digest, { cron: "0 9 * * *" });
  const worker = createWorker(app);
  await world.advance(10 * minuteMs + 1);
  const stoppedAt = world.now();
  await world.run(worker.stop());
  expect(world.now() - stoppedAt).toBeLessThan(100);
});
