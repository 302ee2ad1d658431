/** Workers that die or lose a connection, at every call of the storage about a schedule, and at every append. */

import { createWorker, type ScheduleOptions } from "@durable/core";
import { faultyStorage, type Fault, type Operation } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { hourMs, minuteMs, scheduleLab } from "./lab.ts";

const faults: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-request",
  "lose-reply",
];
const operations: readonly Operation[] = ["schedule", "append"];

interface Story {
  readonly schedule: ScheduleOptions;
  readonly workflow: "digest" | "waiting";
  /** The runs at the end. */
  readonly expected: Readonly<Record<string, string>>;
}

const id = (hour: string): string => `s-20261116T${hour}0000Z`;
const stories: Readonly<Record<string, Story>> = {
  "every tick": {
    schedule: { every: "1 hour", missed: "all", overlap: "allow" },
    workflow: "digest",
    expected: { [id("09")]: "completed", [id("10")]: "completed", [id("11")]: "completed" },
  },
  "the latest run": {
    schedule: { every: "1 hour", missed: "all", overlap: "cancel" },
    workflow: "waiting",
    expected: { [id("09")]: "cancelled", [id("10")]: "cancelled", [id("11")]: "suspended" },
  },
};

/** Three ticks with a worker that has this fault, and a second worker that comes an hour later. */
async function tell(
  { schedule, workflow }: Story,
  plan: (operation: Operation, index: number) => Fault | null,
): Promise<{ runs: Record<string, string>; counts: Readonly<Record<Operation, number>>; pending: unknown }> {
  const lab = scheduleLab("2026-11-16T08:30Z");
  await lab.open().schedule("s", lab[workflow], schedule);
  const storage = faultyStorage(lab.storage, { world: lab.world, plan });
  const first = createWorker(lab.open(storage), { idleInterval: 10 * minuteMs });
  await lab.to("2026-11-16T10:30Z");
  const second = createWorker(lab.open(), { idleInterval: 10 * minuteMs });
  await lab.to("2026-11-16T11:30Z");
  await lab.world.run(second.stop());
  const { text = "{}" } = (await lab.storage.schedules.get("s")) ?? {};
  void first.stop();
  return {
    runs: await lab.runs(),
    counts: storage.counts,
    pending: (JSON.parse(text) as { pending: unknown }).pending,
  };
}

describe.each(Object.entries(stories))("%s", (_name, story) => {
  test("without faults", async () => {
    expect(await tell(story, () => null)).toMatchObject({ runs: story.expected, pending: null });
  });

  test.each(operations)("a fault at every %s", async (operation) => {
    const { counts } = await tell(story, () => null);
    expect(counts[operation]).toBeGreaterThan(5);
    const step = inject("full") ? 1 : 2;
    for (const fault of faults)
      for (let at = 1; at <= counts[operation]; at += step) {
        const plan = (asked: Operation, index: number): Fault | null =>
          asked === operation && index === at ? fault : null;
        const { runs, pending } = await tell(story, plan);
        expect({ fault, at, runs, pending }).toEqual({ fault, at, runs: story.expected, pending: null });
      }
  });
});

test("a tick that cannot start its run stays pending, and starts when it can", async () => {
  const lab = scheduleLab();
  const app = lab.open();
  await app.schedule("s", lab.digest, { every: "1 hour" });
  let broken = true;
  const storage = faultyStorage(lab.storage, {
    world: lab.world,
    plan: (operation) => (broken && operation === "append" ? "lose-request" : null),
  });
  const worker = createWorker(lab.open(storage));
  await lab.world.advance(hourMs + 10 * minuteMs);
  expect(await lab.runs()).toEqual({});
  const warnings = lab.world.warnings.filter((text) => text.startsWith("schedule s"));
  expect(warnings.length, "a warning a minute, at most").toBeLessThanOrEqual(10);
  expect(warnings[0]).toContain("cannot start its run and will retry");
  broken = false;
  await lab.world.advance(2 * minuteMs);
  expect(await lab.runs()).toEqual({ "s-20261116T090000Z": "completed" });
  await lab.world.run(worker.stop());
});
