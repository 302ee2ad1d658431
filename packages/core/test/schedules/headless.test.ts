/** A storage may leave out the head when it replies to a read. Schedules then find out from the journal whether a run has ended. */

import type { Storage } from "@durable/core";
import { expect, test } from "vitest";
import { hourMs, scheduleLab } from "./lab.ts";

function withoutHeads(storage: Storage): Storage {
  return new Proxy(storage, {
    get: (inner, name) => {
      if (name === "read")
        return async (...args: Parameters<Storage["read"]>) => {
          const { head: _, ...reply } = await inner.read(...args);
          return reply;
        };
      const value: unknown = Reflect.get(inner, name, inner);
      return typeof value === "function" ? (value.bind(inner) as unknown) : value;
    },
  });
}

/** The runs after some hours, of which the first tick's runs on, or has ended. */
async function runsOf(
  overlap: "allow" | "skip" | "queue" | "cancel",
  flow: "waiting" | "digest",
  wrap: (storage: Storage) => Storage,
): Promise<Record<string, string>> {
  const { world, open, storage, runs, ...flows } = scheduleLab();
  const app = open(wrap(storage));
  await app.schedule("hourly", flows[flow], { cron: "0 * * * *", overlap });
  for (let hour = 0; hour < 4; hour++) {
    await world.advance(hourMs);
    await world.run(app.sweep());
  }
  return runs();
}

const overlaps = ["allow", "skip", "queue", "cancel"] as const;

test.each(
  overlaps.flatMap((overlap) => (["waiting", "digest"] as const).map((flow) => [overlap, flow] as const)),
)("overlap %s with runs that are %s is the same with and without heads", async (overlap, flow) => {
  const expected = await runsOf(overlap, flow, (storage) => storage);
  expect(Object.keys(expected).length).toBeGreaterThan(0);
  expect(await runsOf(overlap, flow, withoutHeads)).toEqual(expected);
});
