/** Schedules: every `overlap`, every `missed`, and what operators do. */

import { durable, type App } from "@durable/core";
import type { Overlap } from "@durable/core/types";
import { expect } from "vitest";
import type { Feature, Program } from "./feature.ts";
import { refuses, tokenOf, type FeatureLab } from "./lab.ts";

const waiting = durable("waiting", (ctx, _input: unknown) => ctx.suspend("go"));
const quick = durable("quick", (ctx, _input: unknown) => ctx.step("work", () => "done"));

/** A schedule of every minute, whose first run waits. */
async function ticking(lab: FeatureLab, overlap?: Overlap): Promise<App> {
  const app = lab.app([waiting]);
  await lab.run(app.schedule("pulse", waiting, { every: "1 minute", overlap }));
  lab.worker(app);
  await lab.until("the run of the first tick waits", async () => (await lab.statuses(app))["suspended"]);
  return app;
}

async function answerFirst(lab: FeatureLab, app: App): Promise<void> {
  const [run] = (await lab.list(app)).filter(({ status }) => status === "suspended");
  const { token } = { token: tokenOf(await app.get(run?.runId ?? "").outcome()) };
  await lab.run(app.resume(token, "go"));
}

const skipped =
  (overlap?: Overlap): Program =>
  async (lab) => {
    const app = await ticking(lab, overlap);
    await lab.pass(180_000);
    expect(await lab.statuses(app)).toEqual({ suspended: 1 });
    await answerFirst(lab, app);
    await lab.until("a later tick starts a run", async () => (await lab.list(app)).length === 2);
  };

const overlaps: Readonly<Record<string, Program>> = {
  "a schedule goes on: each tick starts a run of its own": async (lab) => {
    const app = lab.app([quick]);
    await lab.run(app.schedule("pulse", quick, { every: "1 minute" }));
    lab.worker(app);
    await lab.until("five ticks have run", async () => ((await lab.statuses(app))["completed"] ?? 0) >= 5);
    const ids = await lab.ids(app);
    expect(ids.slice(0, 2)).toEqual(["pulse-20260101T000100Z", "pulse-20260101T000200Z"]);
  },
  "overlap by default skips ticks while a run has not ended": skipped(),
  'overlap "skip" skips ticks while a run has not ended': skipped("skip"),
  'overlap "allow" starts a run at every tick': async (lab) => {
    const app = await ticking(lab, "allow");
    await lab.until("three runs wait", async () => ((await lab.statuses(app))["suspended"] ?? 0) >= 3);
  },
  'overlap "queue" starts one more run when the run has ended': async (lab) => {
    const app = await ticking(lab, "queue");
    await lab.pass(180_000);
    expect(await lab.statuses(app)).toEqual({ suspended: 1 });
    expect((await app.schedules.get("pulse")).queuedAt).toBe(Date.UTC(2026, 0, 1, 0, 2));
    await answerFirst(lab, app);
    await lab.until("the queued tick starts", async () => (await lab.list(app)).length === 2);
    expect(await lab.ids(app)).toContain("pulse-20260101T000200Z");
  },
  'overlap "cancel" ends the run before, and starts a run at every tick': async (lab) => {
    const app = await ticking(lab, "cancel");
    await lab.until(
      "two runs are cancelled and the newest waits",
      async () =>
        (await lab.statuses(app))["cancelled"] === 2 && (await lab.statuses(app))["suspended"] === 1,
    );
  },
};

const missed =
  (rule: "latest" | "skip" | "all" | undefined, expected: readonly string[]): Program =>
  async (lab) => {
    const app = lab.app([quick]);
    await lab.run(app.schedule("hourly", quick, { every: "1 hour", missed: rule, overlap: "allow" }));
    await lab.pass(3 * 3_600_000 + 600_000);
    const { scheduled } = await lab.run(app.sweep());
    expect(scheduled).toEqual(expected.map((hour) => `hourly-20260101T${hour}0000Z`));
    expect((await lab.run(app.sweep())).scheduled).toEqual([]);
    expect(await lab.statuses(app)).toEqual(expected.length === 0 ? {} : { completed: expected.length });
  };

const misses: Readonly<Record<string, Program>> = {
  "missed ticks by default start the latest": missed(undefined, ["03"]),
  'missed "latest" starts the latest': missed("latest", ["03"]),
  'missed "skip" starts none that is old': missed("skip", []),
  'missed "all" starts each': missed("all", ["01", "02", "03"]),
};

const operating: Readonly<Record<string, Program>> = {
  "a tick of several processes starts one run": async (lab) => {
    const apps = [lab.app([quick]), lab.app([quick], { storage: await lab.another() })];
    for (const app of apps) await lab.run(app.schedule("hourly", quick, { every: "1 hour" }));
    await lab.pass(3_600_000);
    const sweeps = await lab.run(Promise.all([...apps, ...apps].map((app) => app.sweep())));
    expect(sweeps.flatMap(({ scheduled }) => scheduled)).toEqual(["hourly-20260101T010000Z"]);
  },
  "a schedule is paused, triggered by hand, listed and deleted": async (lab) => {
    const app = lab.app([quick]);
    await lab.run(app.schedule("pulse", quick, { every: "1 minute" }));
    await lab.run(app.schedules.pause("pulse"));
    lab.worker(app);
    await lab.pass(180_000);
    expect(await lab.list(app)).toEqual([]);
    const run = await lab.run(app.schedules.trigger("pulse"));
    expect(await lab.ended(run)).toMatchObject({ status: "completed" });
    const { schedules } = await lab.run(app.schedules.list());
    expect(schedules).toMatchObject([{ name: "pulse", paused: true, nextAt: null }]);
    await lab.run(app.schedules.delete("pulse"));
    expect((await lab.run(app.schedules.list())).schedules).toEqual([]);
  },
};

export const schedules: Feature = {
  name: "Schedules",
  page: "guides/operate/schedules.md",
  needs: "schedules",
  programs: { ...overlaps, ...misses, ...operating },
  without: async (lab) => {
    const app = lab.app([quick]);
    await refuses(
      () => app.schedule("pulse", quick, { every: "1 minute" }),
      /does not keep schedules. Use another storage/,
    );
    // Workers and sweeps of such a storage do the rest.
    expect((await lab.run(app.sweep())).scheduled).toEqual([]);
  },
};
