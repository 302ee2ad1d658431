import { createApp, createWorker, durable, tickOf } from "@durable/core";
import { describe, expect, test } from "vitest";
import { pause } from "../support/behaviour-lab.ts";
import { dayMs, hourMs, minuteMs, scheduleLab } from "./lab.ts";

const daily = { cron: "0 9 * * *" } as const;

describe("sweeps", () => {
  test("start the run of a tick once, with its time in its id", async () => {
    const { world, open, digest, runs, to, ran } = scheduleLab();
    const app = open();
    await app.schedule("daily", digest, { ...daily, input: { to: "all" } });
    expect((await world.run(app.sweep())).scheduled).toEqual([]);
    await to("2026-11-16T09:00Z");
    const sweep = await world.run(app.sweep());
    expect(sweep.scheduled).toEqual(["daily-20261116T090000Z"]);
    expect(sweep.outcomes).toMatchObject([{ status: "completed", output: { to: "all" } }]);
    await world.run(open().sweep());
    expect(await runs()).toEqual({ "daily-20261116T090000Z": "completed" });
    expect(ran.map(tickOf)).toEqual([{ schedule: "daily", at: Date.parse("2026-11-16T09:00Z") }]);
    expect(tickOf("daily")).toBeNull();
  });

  test("of several processes at once start it once", async () => {
    const { world, open, digest, runs, to } = scheduleLab();
    await open().schedule("daily", digest, daily);
    await to("2026-11-16T09:00Z");
    const sweeps = await world.run(Promise.all(Array.from({ length: 5 }, () => open().sweep())));
    expect(sweeps.flatMap(({ scheduled }) => scheduled)).toEqual(["daily-20261116T090000Z"]);
    expect(await runs()).toEqual({ "daily-20261116T090000Z": "completed" });
  });

  test("leave schedules of unknown workflows to others", async () => {
    const { world, open, digest, storage, to } = scheduleLab();
    await open().schedule("daily", digest, daily);
    const row = await storage.schedules.get("daily");
    await storage.schedules.put({ ...row!, workflow: "elsewhere", version: "changed" }, row!.version);
    await to("2026-11-16T09:00Z");
    expect((await world.run(open().sweep())).scheduled).toEqual([]);
    expect(world.warnings).toEqual([]);
  });
});

describe("workers", () => {
  test("start runs on time, and notice a schedule that this process defines", async () => {
    const { world, open, digest, to, ran } = scheduleLab();
    const app = open();
    const worker = createWorker(app);
    await world.advance(minuteMs);
    await app.schedule("often", digest, { every: "10 minutes", overlap: "allow" });
    await to("2026-11-16T09:00:01Z");
    expect(ran).toHaveLength(6);
    await world.run(worker.stop());
    await to("2026-11-16T10:00Z");
    expect(ran).toHaveLength(6);
  });

  test("notice a schedule of another process, and its changes", async () => {
    const { world, open, digest, to, ran } = scheduleLab();
    const worker = createWorker(open());
    await world.advance(minuteMs);
    const other = open();
    await other.schedule("often", digest, { every: "10 minutes" });
    await to("2026-11-16T08:30:01Z");
    expect(ran).toHaveLength(3);
    await other.schedules.pause("often");
    await to("2026-11-16T09:00:01Z");
    expect(ran).toHaveLength(3);
    await other.schedules.unpause("often");
    await to("2026-11-16T09:20:01Z");
    expect(ran.slice(3)).toEqual(["often-20261116T091000Z", "often-20261116T092000Z"]);
    await world.run(worker.stop());
    expect(world.warnings).toEqual([]);
  });
});

describe("missed ticks", () => {
  const cases = [
    [undefined, ["digest-20261119T090000Z"]],
    ["latest", ["digest-20261119T090000Z"]],
    ["skip", []],
    ["all", ["16", "17", "18", "19"].map((day) => `digest-202611${day}T090000Z`)],
  ] as const;
  test.each(cases)("%s", async (missed, expected) => {
    const { world, open, digest, to, runs } = scheduleLab();
    const app = open();
    await app.schedule("digest", digest, { ...daily, missed, overlap: "allow" });
    await to("2026-11-19T10:00Z");
    expect((await world.run(app.sweep())).scheduled).toEqual(expected);
    expect(Object.keys(await runs())).toEqual(expected);
    expect((await world.run(app.sweep())).scheduled).toEqual([]);
    await to("2026-11-20T09:04Z");
    expect((await world.run(app.sweep())).scheduled).toEqual(["digest-20261120T090000Z"]);
  });

  test("all is bounded", async () => {
    const { world, open, digest, runs } = scheduleLab();
    const app = open();
    await app.schedule("often", digest, { every: "1 minute", missed: "all", overlap: "allow" });
    await world.advance(dayMs);
    await world.run(app.sweep());
    const ids = Object.keys(await runs());
    expect(ids).toHaveLength(100);
    expect(ids.at(-1)).toBe("often-20261117T080000Z");
  });
});

describe("overlaps", () => {
  const ticks = ["16", "17", "18"].map((day) => `waiting-202611${day}T090000Z`);
  const cases = [
    [undefined, { [ticks[0]!]: "suspended" }],
    ["skip", { [ticks[0]!]: "suspended" }],
    ["allow", { [ticks[0]!]: "suspended", [ticks[1]!]: "suspended", [ticks[2]!]: "suspended" }],
    ["queue", { [ticks[0]!]: "suspended" }],
    ["cancel", { [ticks[0]!]: "cancelled", [ticks[1]!]: "cancelled", [ticks[2]!]: "suspended" }],
  ] as const;
  test.each(cases)("%s", async (overlap, expected) => {
    const { world, open, waiting, to, runs } = scheduleLab();
    const app = open();
    await app.schedule("waiting", waiting, { ...daily, overlap });
    const worker = createWorker(app, { idleInterval: hourMs });
    await to("2026-11-18T12:00Z");
    expect(await runs()).toEqual(expected);
    await world.run(worker.stop());
  });

  test("a queued tick starts when the run has ended", async () => {
    const { world, open, waiting, to, runs } = scheduleLab();
    const app = open();
    await app.schedule("waiting", waiting, { ...daily, overlap: "queue" });
    const worker = createWorker(app, { idleInterval: hourMs });
    await to("2026-11-17T12:00Z");
    expect(await app.schedules.get("waiting")).toMatchObject({
      queuedAt: Date.parse("2026-11-17T09:00Z"),
      lastRunId: ticks[0],
    });
    await world.run(app.cancel(ticks[0]!));
    await world.advance(10_000);
    expect(await runs()).toEqual({ [ticks[0]!]: "cancelled", [ticks[1]!]: "suspended" });
    expect(await app.schedules.get("waiting")).toMatchObject({ queuedAt: null, lastRunId: ticks[1] });
    await world.run(worker.stop());
  });

  test("a tick that cancels a run starts its own once that one has cleaned up", async () => {
    const { world, storage, to, runs } = scheduleLab();
    const ran: string[] = [];
    const careful = durable("careful", async (ctx) => {
      ctx.onCancel((c) =>
        c.step("clean", async () => {
          ran.push(`${ctx.runId} cleans`);
          await pause(world, 20_000);
          ran.push(`${ctx.runId} is clean`);
        }),
      );
      ran.push(`${ctx.runId} begins`);
      await ctx.suspend("go");
    });
    const secret = "a secret for tests, of no worth";
    const app = createApp({ storage, world, secret, workflows: [careful], patience: 0 });
    await app.schedule("careful", careful, { ...daily, overlap: "cancel" });
    const worker = createWorker(app, { idleInterval: minuteMs });
    await to("2026-11-17T09:00:10Z");
    const [first, second] = ["careful-20261116T090000Z", "careful-20261117T090000Z"];
    expect(Object.keys(await runs())).toEqual([first]);
    await to("2026-11-17T09:05Z");
    expect(await runs()).toEqual({ [first]: "cancelled", [second]: "suspended" });
    const order = [`${first} begins`, `${first} cleans`, `${first} is clean`, `${second} begins`];
    expect(ran.filter((line, at) => ran.indexOf(line) === at)).toEqual(order);
    await world.run(worker.stop());
  });

  test("a run that was deleted counts as ended", async () => {
    const { world, open, waiting, to, runs } = scheduleLab();
    const app = open();
    await app.schedule("waiting", waiting, daily);
    await to("2026-11-16T09:00Z");
    await world.run(app.sweep());
    await world.run(app.delete(ticks[0]!));
    await to("2026-11-17T09:00Z");
    await world.run(app.sweep());
    expect(await runs()).toEqual({ [ticks[1]!]: "suspended" });
  });
});
