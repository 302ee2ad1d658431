import {
  createApp,
  createWorker,
  durable,
  DurableError,
  MemoryStorage,
  type App,
  type StandardSchema,
  type Storage,
} from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { hourMs, scheduleLab } from "./lab.ts";

const daily = { cron: "0 9 * * *", timezone: "Europe/Paris" } as const;

const withNumber: StandardSchema<{ n: number }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof (value as { n?: unknown } | undefined)?.n === "number"
        ? { value: value as { n: number } }
        : { issues: [{ message: "no n" }] },
  },
};

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "done",
    (error: unknown) => (DurableError.is(error) ? error.code : String(error)),
  );
}

describe("defining", () => {
  test("shows the schedule", async () => {
    const { open, digest, world } = scheduleLab();
    const app = open();
    const info = {
      name: "daily",
      workflow: "digest",
      cron: "0 9 * * *",
      timezone: "Europe/Paris",
      every: null,
      overlap: "skip",
      missed: "latest",
      paused: false,
      nextAt: Date.parse("2026-11-17T08:00Z"),
      queuedAt: null,
      lastAt: null,
      lastRunId: null,
      createdAt: world.now(),
      updatedAt: world.now(),
    };
    expect(await app.schedule("daily", digest, daily)).toEqual(info);
    expect(await app.schedules.get("daily")).toEqual(info);
    expect(await app.schedules.next("daily", 3)).toEqual(
      ["2026-11-17T08:00Z", "2026-11-18T08:00Z", "2026-11-19T08:00Z"].map(Date.parse),
    );
  });

  test("again with the same definition writes nothing", async () => {
    const { open, digest, storage } = scheduleLab();
    await open().schedule("daily", digest, { ...daily, input: { a: 1, b: [2] } });
    const before = await storage.schedules.get("daily");
    await open().schedule("daily", digest, { ...daily, input: { a: 1, b: [2] } });
    expect(await storage.schedules.get("daily")).toEqual(before);
    await open().schedule("daily", digest, { ...daily, input: { a: 1, b: [3] } });
    expect(await storage.schedules.get("daily")).not.toEqual(before);
  });

  test("a new input keeps the cursor: a tick that is due starts with it", async () => {
    const { open, digest, world, to, runs } = scheduleLab();
    await open().schedule("daily", digest, { ...daily, input: "old" });
    await to("2026-11-17T08:02Z");
    const app = open();
    await app.schedule("daily", digest, { ...daily, input: "new" });
    const { outcomes } = await world.run(app.sweep());
    expect(outcomes).toMatchObject([{ runId: "daily-20261117T080000Z", output: "new" }]);
    expect(await runs()).toEqual({ "daily-20261117T080000Z": "completed" });
  });

  test("other times: ticks that are due by the old ones start, and the new ones count from now", async () => {
    const { open, digest, world, to, runs } = scheduleLab();
    await open().schedule("daily", digest, daily);
    await to("2026-11-17T08:02Z");
    const app = open();
    await app.schedule("daily", digest, { every: "1 hour" });
    expect(Object.keys(await runs())).toEqual(["daily-20261117T080000Z"]);
    await world.run(app.sweep());
    await to("2026-11-17T09:00Z");
    await world.run(app.sweep());
    expect(Object.keys(await runs())).toEqual(["daily-20261117T080000Z", "daily-20261117T090000Z"]);
  });

  test("keeps a pause", async () => {
    const { open, digest } = scheduleLab();
    const app = open();
    await app.schedule("daily", digest, daily);
    await app.schedules.pause("daily");
    expect(await open().schedule("daily", digest, { every: "1 hour" })).toMatchObject({
      paused: true,
      nextAt: null,
      every: hourMs,
    });
  });

  test("is refused with a reason", async () => {
    const { open, digest, world } = scheduleLab();
    const app = open();
    const stranger = durable("stranger", () => 1);
    const strict = durable("strict", (_ctx, input) => input.n, { input: withNumber });
    const other = createApp({ storage: new MemoryStorage(), world, workflows: [strict] });
    for (const [work, code] of [
      [app.schedule("a b", digest, daily), "invalid-name"],
      [app.schedule("", digest, daily), "invalid-name"],
      [app.schedule("x".repeat(101), digest, daily), "invalid-name"],
      [app.schedule("x", stranger, daily), "unknown-workflow"],
      [app.schedule("x", digest, { cron: "61 * * * *" }), "invalid-options"],
      [app.schedule("x", digest, { ...daily, overlap: "never" as "skip" }), "invalid-options"],
      [app.schedule("x", digest, { ...daily, missed: "some" as "skip" }), "invalid-options"],
      [app.schedule("x", digest, { ...daily, when: "now" } as never), "invalid-options"],
      [app.schedule("x", digest, { ...daily, input: "x".repeat(70_000) }), "too-large"],
      [app.schedule("x", digest, { ...daily, input: () => 1 }), "not-serializable"],
      [other.schedule("x", strict, { ...daily, input: { n: "1" } as never }), "invalid-input"],
      [app.schedules.get("nothing"), "not-found"],
      [app.schedules.pause("nothing"), "not-found"],
      [app.schedules.trigger("nothing"), "not-found"],
      [app.schedules.next("nothing"), "not-found"],
      [app.schedules.delete("nothing"), "not-found"],
    ] as const)
      expect(await codeOf(work)).toBe(code);
    await app.schedule("daily", digest, daily);
    for (const count of [0, -1, 1.5e9, Number.NaN])
      expect(await codeOf(app.schedules.next("daily", count))).toBe("invalid-options");
  });

  test("a storage without schedules says so, and its workers and sweeps work", async () => {
    const { open, digest, storage, world } = scheduleLab();
    const { schedules: _, ...rest } = bound(storage);
    const app = open(rest);
    expect(await codeOf(app.schedule("daily", digest, daily))).toBe("invalid-options");
    const worker = createWorker(app);
    await app.start("digest", 1, { id: "r", drive: false });
    await world.advance(1_000);
    expect((await world.run(app.get("r").outcome())).status).toBe("completed");
    await world.run(worker.stop());
    expect((await world.run(app.sweep())).scheduled).toEqual([]);
  });
});

/** The members of a storage as an object. */
function bound(storage: MemoryStorage): Storage {
  return {
    append: (request) => storage.append(request),
    read: (locator, from) => storage.read(locator, from),
    list: (query) => storage.list(query),
    lease: (locator, owner, ttlMs) => storage.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
    delete: (locator) => storage.delete(locator),
    schedules: storage.schedules,
  };
}

describe("operations", () => {
  test("pause, resume: ticks of the pause do not start", async () => {
    const { open, digest, world, to, runs } = scheduleLab();
    const app = open();
    await app.schedule("daily", digest, { ...daily, missed: "all" });
    expect(await app.schedules.pause("daily")).toMatchObject({ paused: true, nextAt: null });
    await to("2026-11-19T12:00Z");
    expect((await world.run(app.sweep())).scheduled).toEqual([]);
    expect(await app.schedules.unpause("daily")).toMatchObject({
      paused: false,
      nextAt: Date.parse("2026-11-20T08:00Z"),
    });
    await app.schedules.unpause("daily");
    await to("2026-11-20T12:00Z");
    await world.run(app.sweep());
    expect(Object.keys(await runs())).toEqual(["daily-20261120T080000Z"]);
  });

  test("delete: no further tick, and a new one of the name begins anew", async () => {
    const { open, digest, world, to, runs } = scheduleLab();
    const app = open();
    await app.schedule("daily", digest, daily);
    await app.schedules.delete("daily");
    await to("2026-11-18T12:00Z");
    expect((await world.run(app.sweep())).scheduled).toEqual([]);
    await app.schedule("daily", digest, daily);
    expect((await world.run(app.sweep())).scheduled).toEqual([]);
    await to("2026-11-19T12:00Z");
    await world.run(app.sweep());
    expect(Object.keys(await runs())).toEqual(["daily-20261119T080000Z"]);
  });

  test("trigger: one more run, and no tick changes", async () => {
    const { open, digest, world } = scheduleLab();
    const app = open();
    const before = await app.schedule("daily", digest, { ...daily, input: "now" });
    const run = await app.schedules.trigger("daily");
    expect(run.repeated).toBe(false);
    await world.run(app.sweep());
    expect(await run.outcome()).toMatchObject({ status: "completed", output: "now" });
    expect(await app.schedules.get("daily")).toEqual(before);
  });

  test("list: pages by name, and one workflow", async () => {
    const { open, digest, waiting } = scheduleLab();
    const app = open();
    for (const name of ["c", "a", "b"]) await app.schedule(name, digest, daily);
    await app.schedule("w", waiting, daily);
    const namesOf = async (query: Parameters<App["schedules"]["list"]>[0]): Promise<unknown> => {
      const { schedules, next } = await app.schedules.list(query);
      return [schedules.map(({ name }) => name), next];
    };
    expect(await namesOf({})).toEqual([["a", "b", "c", "w"], null]);
    expect(await namesOf({ limit: 2 })).toEqual([["a", "b"], "b"]);
    expect(await namesOf({ limit: 2, cursor: "b" })).toEqual([["c", "w"], null]);
    expect(await namesOf({ workflow: "waiting" })).toEqual([["w"], null]);
  });
});

describe("encryption", () => {
  const keys = { one: Uint8Array.from({ length: 32 }, (_, n) => n * 7 + 1) };

  test("hides the input, and only its owner can use it", async () => {
    const { world, digest, storage, open, to } = scheduleLab();
    const encryption = aesGcm({ current: "one", keys });
    const app = createApp({ storage, world, workflows: [digest], encryption });
    await app.schedule("daily", digest, { ...daily, input: "a secret input" });
    const row = await storage.schedules.get("daily");
    expect(JSON.stringify(row)).not.toContain("a secret input");
    await app.schedule("daily", digest, { ...daily, input: "a secret input" });
    expect(await storage.schedules.get("daily"), "the same definition").toEqual(row);
    await to("2026-11-17T09:00Z");
    expect((await world.run(open().sweep())).scheduled, "without the key").toEqual([]);
    expect(world.warnings.join()).toContain("is encrypted");
    const { outcomes } = await world.run(app.sweep());
    expect(outcomes).toMatchObject([{ runId: "daily-20261117T080000Z", output: "a secret input" }]);
  });

  test("refuses an input that is not encrypted, or was made for another workflow", async () => {
    const { world, digest, waiting, storage, open } = scheduleLab();
    await open().schedule("plain", digest, daily);
    const encryption = aesGcm({ current: "one", keys });
    const app = createApp({ storage, world, workflows: [digest, waiting], encryption });
    expect(await codeOf(app.schedules.trigger("plain"))).toBe("tampered");
    await app.schedule("daily", digest, { ...daily, input: 1 });
    const row = await storage.schedules.get("daily");
    await storage.schedules.put({ ...row!, workflow: "waiting", version: "other" }, row!.version);
    expect(await codeOf(app.schedules.trigger("daily"))).toBe("tampered");
  });
});

describe("a stored schedule", () => {
  test.each([
    ["{", "corrupt"],
    ['{"v":2}', "newer-format"],
  ])("%s", async (text, code) => {
    const { open, storage } = scheduleLab();
    await storage.schedules.put({ name: "x", workflow: "digest", dueAt: 0, version: "1", text }, null);
    expect(await codeOf(open().schedules.get("x"))).toBe(code);
  });
});
