/**
 * Three workers that are killed again and again, over a year with all changes of the clocks in two zones: every tick has
 * exactly one run, and no other run exists. The ticks are found by a walk through every minute (oracle.ts).
 */

import { createWorker } from "@durable/core";
import { faultyStorage, seeded, type Fault } from "@durable/testing";
import { expect, inject, test } from "vitest";
import { dayMs, hourMs, scheduleLab } from "./lab.ts";
import { oracle, walls } from "./oracle.ts";

const schedules = {
  night: { cron: "30 2 * * *", timezone: "Europe/Paris" },
  "half-hours": { cron: "0,30 1-3 * * sun", timezone: "America/New_York" },
  hourly: { cron: "15 */6 * * *", timezone: "America/New_York" },
  month: { cron: "0 0 1,15 * *", timezone: "Europe/Paris" },
} as const;

const kinds: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-reply",
  "lose-request",
];

const full = inject("full");
// Without the full size: the days in which the zones change their clocks.
const spans = full
  ? [["2026-01-01T00:00Z", "2027-01-01T00:00Z"]]
  : [
      ["2026-03-06T00:00Z", "2026-03-10T00:00Z"],
      ["2026-03-27T00:00Z", "2026-04-02T00:00Z"],
      ["2026-10-24T00:00Z", "2026-11-03T00:00Z"],
    ];

test.each(spans)(
  "every tick once, from %s to %s",
  async (from = "", until = "") => {
    const lab = scheduleLab(from, 7);
    const random = seeded(11);
    const app = lab.open();
    for (const [name, timing] of Object.entries(schedules))
      await app.schedule(name, lab.digest, { ...timing, missed: "all", overlap: "allow" });

    let kills = 0;
    let over = false;
    /** A worker that dies some time; another one takes its place after a while. */
    const live = (): void => {
      if (over) return;
      const storage = faultyStorage(lab.storage, {
        world: lab.world,
        plan: () => (!over && random.next() < 0.02 ? (kinds[random.between(0, 4)] ?? null) : null),
      });
      createWorker(lab.open(storage), { idleInterval: 12 * hourMs });
      void storage.died.then(() => {
        kills += 1;
        lab.world.timer(random.next() * 3 * hourMs, live);
      });
    };
    for (let n = 0; n < 3; n++) live();
    await lab.to(until);
    over = true;
    const last = createWorker(lab.open());
    await lab.world.advance(10 * 60_000);
    await lab.world.run(last.stop());

    const expected: string[] = [];
    const span = [Date.parse(from) - 2 * dayMs, Date.parse(until) + 10 * 60_000] as const;
    const walks = {
      "Europe/Paris": walls("Europe/Paris", ...span),
      "America/New_York": walls("America/New_York", ...span),
    };
    for (const [name, { cron, timezone }] of Object.entries(schedules)) {
      const walk = walks[timezone];
      for (const at of oracle(cron, walk).filter((tick) => tick > Date.parse(from)))
        expected.push(`${name}-${new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`);
    }
    const runs = await lab.runs();
    expect(Object.keys(runs)).toEqual(expected.toSorted());
    expect(new Set(Object.values(runs))).toEqual(new Set(["completed"]));
    expect(kills).toBeGreaterThan(full ? 10 : 1);
  },
  // A year is some minutes on a busy machine.
  full ? 900_000 : 240_000,
);
