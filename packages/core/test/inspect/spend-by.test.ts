import { describe, expect, test } from "vitest";
import { createApp, durable, DurableError, MemoryStorage, type App } from "../../src/index.ts";
import { MemoryBucket, RemoteStorage } from "../../src/remote.ts";
import type { Storage } from "../../src/index.ts";
import { virtualWorld } from "@durable/testing";

const prices = { luna: { input: 2, output: 8 } };

/** Two runs: one on two days, with tags, and one of another workflow with a model that has no price. */
async function spent(storage: Storage): Promise<App> {
  const world = virtualWorld({ start: Date.parse("2026-03-01T23:00:00Z") });
  const writes = durable("writes", async (ctx) => {
    await ctx.step("draft 1", (info) => info.meter({ model: "luna", inputTokens: 100, outputTokens: 10 }), {
      label: "draft",
    });
    await ctx.sleep("2 hours");
    await ctx.step("check", (info) => {
      info.meter({ model: "luna", inputTokens: 1_000_000, outputTokens: 0 });
      info.meter({ model: "luna", inputTokens: 1, outputTokens: 0, label: "style" });
    });
  });
  const reads = durable("reads", (ctx) =>
    ctx.step("ask", (info) => info.meter({ model: "sol", inputTokens: 7, outputTokens: 3 })),
  );
  const app = createApp({ workflows: [writes, reads], storage, world, prices, patience: "1 day" });
  await world.run(app.run(writes, undefined, { tags: { team: "blue", for: "ann" } }));
  await world.run(app.run(reads, undefined));
  return app;
}

const keys = async (app: App, options: Parameters<App["spend"]>[0]) =>
  (await app.spend(options)).rows.map(({ key, inputTokens, cost }) => [key, inputTokens, cost]);

describe("app.spend", () => {
  test("one row per day, model, workflow, label and tag, with their costs", async () => {
    const app = await spent(new MemoryStorage());
    expect(await keys(app, { by: "day" })).toEqual([
      ["2026-03-01", 100, 0.00028],
      ["2026-03-02", 1_000_008, null],
    ]);
    expect(await keys(app, { by: "model" })).toEqual([
      ["luna", 1_000_101, 2.000282],
      ["sol", 7, null],
    ]);
    expect(await keys(app, { by: "workflow" })).toEqual([
      ["writes", 1_000_101, 2.000282],
      ["reads", 7, null],
    ]);
    expect(await keys(app, { by: "label" })).toEqual([
      ["check", 1_000_000, 2],
      ["draft", 100, 0.00028],
      ["style", 1, 0.000002],
      ["ask", 7, null],
    ]);
    expect(await keys(app, { by: "tag" })).toEqual([
      ["team=blue", 1_000_101, 2.000282],
      ["for=ann", 1_000_101, 2.000282],
      ["", 7, null],
    ]);
    expect(await app.spend({ by: "tag" })).toMatchObject({ inputTokens: 1_000_108, cost: null });
  });

  test("of a time, by whole days", async () => {
    const app = await spent(new MemoryStorage());
    const [noon, midnight] = [new Date("2026-03-01T12:00:00Z"), new Date("2026-03-02T00:00:00Z")];
    const days = async (given: object) => (await keys(app, { by: "day", ...given })).map(([key]) => key);
    expect(await days({ since: noon })).toEqual(["2026-03-01", "2026-03-02"]);
    expect(await days({ since: midnight })).toEqual(["2026-03-02"]);
    expect(await days({ until: midnight })).toEqual(["2026-03-01"]);
    expect(await days({ until: new Date("2026-03-02T00:00:01Z") })).toEqual(["2026-03-01", "2026-03-02"]);
    expect(await days({ since: new Date("2026-03-03") })).toEqual([]);
  });

  test("a price that came later prices what was recorded without one, and keeps what was recorded with one", async () => {
    const storage = new MemoryStorage();
    await spent(storage);
    const later = { luna: { input: 200, output: 800 }, sol: { input: 1_000_000, output: 0 } };
    const app = createApp({ workflows: [], storage, prices: later });
    expect(await keys(app, { by: "model" })).toEqual([
      ["sol", 7, 7],
      ["luna", 1_000_101, 2.000282],
    ]);
  });

  test.each([
    ["memory", () => new MemoryStorage(), true],
    ["a bucket, which forgets", () => new RemoteStorage(new MemoryBucket()), false],
  ])("after a purge, on %s", async (_, open, keepsPurged) => {
    const storage = open();
    const app = await spent(storage);
    const before = await app.spend({ by: "model" });
    expect(before.keepsPurged).toBe(keepsPurged);
    await app.purge({ keep: 0 });
    const after = await app.spend({ by: "model" });
    expect(after.rows).toEqual(keepsPurged ? before.rows : []);
    const labels = (await app.spend({ by: "label" })).rows.map(({ key }) => key);
    expect(labels).toEqual(keepsPurged ? ["purged"] : []);
  });

  test("refuses what it does not understand", async () => {
    const app = createApp({ workflows: [], storage: new MemoryStorage() });
    const wrong = [
      [{ by: "week" }, /app\.spend got by: "week"\. Use "day", "model"/],
      [{ by: "day", since: "yesterday" }, /app\.spend got since: "yesterday"\. Pass a Date/],
      [{ by: "day", until: new Date(Number.NaN) }, /app\.spend got until/],
      [{ by: "day", from: new Date() }, /app\.spend has no option "from"/],
    ] as const;
    for (const [options, message] of wrong) {
      const refused = app.spend(options as never);
      await expect(refused).rejects.toThrow(message);
      await expect(refused).rejects.toBeInstanceOf(DurableError);
    }
  });
});
