import {
  createApp,
  durable,
  DurableError,
  MemoryStorage,
  secret,
  type RunHead,
  type Storage,
} from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { viewRun } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import { virtualWorld } from "@durable/testing";
import { expect, onTestFinished, test } from "vitest";
import { addUsage, dayOf } from "../../src/values/usage.ts";
import { forgetSecrets } from "../../src/values/scrub.ts";
import { memoryFolder, tempFolder } from "../support/sqlite-temp.ts";

const prices = { luna: { input: 2, output: 8, cachedInput: 1 } };
const tokens = (inputTokens: number, outputTokens = 0) => ({ model: "luna", inputTokens, outputTokens });

const storages: readonly (readonly [string, () => Storage])[] = [
  ["memory", () => new MemoryStorage()],
  [
    "SQLite",
    () => {
      const { path, remove } = tempFolder(memoryFolder);
      const storage = new SqliteStorage(path);
      onTestFinished(() => storage.close().then(remove));
      return storage;
    },
  ],
];

async function headOf(app: { list(query: object): Promise<{ runs: readonly RunHead[] }> }, runId: string) {
  const { runs } = await app.list({});
  return runs.find((head) => head.runId === runId) as RunHead;
}

test.each(storages)(
  "a head has what its run used, by day, model and label, with its cost, on %s",
  async (_, open) => {
    const world = virtualWorld({ start: Date.parse("2026-03-01T23:00:00Z") });
    const flow = durable("spends", async (ctx) => {
      for (const n of [1, 2]) await ctx.step("ask", (info) => info.meter(tokens(1_000_000 * n, 500_000)));
      await ctx.sleep("2 hours");
      await ctx.step("ask", (info) => info.meter({ ...tokens(10), cachedInputTokens: 10 }));
      await ctx.step("search", (info) => info.meter({ model: "unpriced", inputTokens: 7, outputTokens: 1 }));
      await ctx.step("route", (info) =>
        info.meter({ model: "router", inputTokens: 1, outputTokens: 1, cost: 0.25 }),
      );
      await ctx.step("free", () => 1);
    });
    const app = createApp({ workflows: [flow], storage: open(), world, prices, patience: "3 hours" });
    await world.run(app.run(flow, undefined, { id: "r" }));
    expect((await headOf(app, "r")).usage).toEqual([
      {
        day: "2026-03-01",
        label: "ask",
        model: "luna",
        inputTokens: 3_000_000,
        outputTokens: 1_000_000,
        cost: 14,
      },
      {
        day: "2026-03-02",
        label: "ask",
        model: "luna",
        inputTokens: 10,
        outputTokens: 0,
        cachedInputTokens: 10,
        cost: 0.00001,
      },
      { day: "2026-03-02", label: "search", model: "unpriced", inputTokens: 7, outputTokens: 1 },
      { day: "2026-03-02", label: "route", model: "router", inputTokens: 1, outputTokens: 1, cost: 0.25 },
    ]);
    const { totals } = viewRun(await app.get("r").entries());
    expect(totals.spent.cost, "what is not known in part is not known").toBe(null);
    const priced = viewRun(await app.get("r").entries(), {
      prices: { ...prices, unpriced: { input: 0, output: 0 } },
    });
    expect(priced.totals.spent.cost).toBeCloseTo(14.25001);
  },
);

test("every attempt counts, also one that failed and one that a retry struck", async () => {
  const world = virtualWorld();
  let tries = 0;
  const flow = durable("retried", (ctx) =>
    ctx.step(
      "ask",
      (info) => {
        info.meter(tokens(100));
        if (++tries < 4) throw new Error("not yet");
      },
      { retry: { attempts: 2, delay: 10 } },
    ),
  );
  const app = createApp({ workflows: [flow], storage: new MemoryStorage(), world, prices });
  await world.run(app.start(flow, undefined, { id: "r" }).then((run) => run.result().catch(() => null)));
  expect(await headOf(app, "r")).toMatchObject({
    status: "failed",
    error: { code: "step-failed", key: "ask" },
  });
  await app.get("r").retry();
  await world.run(app.get("r").result());
  const head = await headOf(app, "r");
  expect(head.usage).toEqual([{ ...tokens(400), day: dayOf(world.now()), label: "ask", cost: 0.0008 }]);
  expect(head.error, "the failure was taken back").toBeUndefined();
});

test("a fork has what it inherited apart, and a chapter goes on with the sums", async () => {
  const world = virtualWorld();
  const flow = durable("chapters", async (ctx, n: number): Promise<string> => {
    await ctx.step("ask", (info) => info.meter(tokens(100 * n)));
    await ctx.step("tell", (info) => info.meter(tokens(1)));
    return n < 3 ? ctx.continueAs(n + 1) : "done";
  });
  const storage = new MemoryStorage();
  const app = createApp({ workflows: [flow], storage, world });
  await world.run(app.run(flow, 1, { id: "long" }));
  const sums = (of: RunHead, field: "usage" | "inherited") =>
    of[field]?.map(({ label, inputTokens }) => [label, inputTokens]);
  const long = await headOf(app, "long");
  expect(sums(long, "usage")).toEqual([
    ["ask", 600],
    ["tell", 3],
  ]);
  await world.run(app.fork(flow, "long", { from: "tell" }).then((run) => run.result()));
  const fork = (await app.list({ parent: "long" })).runs[0] as RunHead;
  expect(sums(fork, "usage")).toEqual([["tell", 1]]);
  expect(sums(fork, "inherited"), "of the chapter that it reads").toEqual([["ask", 300]]);
});

test("a head has at most 32 rows; labels give way first, then models", () => {
  let rows = addUsage([], [], { day: "d", step: "" });
  for (let n = 0; n < 200; n++)
    rows = addUsage(rows, [{ ...tokens(1), model: n < 100 ? "luna" : `m${n}`, cost: 1 }], {
      day: `d${n % 50 < 25 ? 1 : 2}`,
      step: `l${n}`,
    });
  expect(rows).toHaveLength(32);
  expect(rows.reduce((sum, { inputTokens }) => sum + inputTokens, 0)).toBe(200);
  expect(rows.reduce((sum, { cost = NaN }) => sum + cost, 0)).toBe(200);
  expect(
    rows.filter(({ model, label }) => model === "luna" && label === "other").map(({ day }) => day),
  ).toEqual(["d1", "d2"]);
  expect(rows.at(-1)).toMatchObject({ model: "other", label: "other" });
});

test("a failed run says its first error, short and without secrets; failures of one kind have one group", async () => {
  onTestFinished(forgetSecrets);
  secret("sk-very-secret-key", "api");
  const world = virtualWorld();
  const flow = durable("fails", async (ctx, n: number) => {
    const work = (): never => {
      throw new RangeError(`order ${n} of 3f2a9c11-77aa refused sk-very-secret-key ${"x".repeat(300)}`);
    };
    if (n === 0) throw new Error("of the code");
    if (n < 0) throw new DurableError("invalid-options", "of the library");
    await ctx.parallel([(c) => c.step("charge", work, { retry: false })]);
  });
  const parent = durable("above", (ctx) => ctx.child(flow, 7));
  const app = createApp({ workflows: [flow, parent], storage: new MemoryStorage(), world });
  for (const n of [0, -1, 17, 18])
    await world.run(app.start(flow, n, { id: `n${n}` }).then((run) => run.result().catch(() => null)));
  await world.run(app.start(parent, undefined, { id: "p" }).then((run) => run.result().catch(() => null)));
  const errors = Object.fromEntries((await app.list({})).runs.map(({ runId, error }) => [runId, error]));
  expect(errors["n0"]).toMatchObject({ code: "thrown", message: "Error: of the code" });
  expect(errors["n-1"]).toMatchObject({ code: "invalid-options", message: "DurableError: of the library" });
  expect(errors["n17"]).toMatchObject({ code: "step-failed", key: "parallel[0]/charge" });
  expect(errors["n17"]?.message).toMatch(/^RangeError: order 17 of 3f2a9c11-77aa refused \[secret api\] x+$/);
  expect(errors["n17"]?.message).toHaveLength(200);
  expect(errors["n18"]?.group).toBe(errors["n17"]?.group);
  expect(errors["n0"]?.group).not.toBe(errors["n17"]?.group);
  expect(errors["p"], "the child's own first error").toMatchObject({
    code: "step-failed",
    key: "parallel[0]/charge",
  });
  expect(errors["p"]?.message).toMatch(/^RangeError: order 7 /);
});

test("with encryption the message is sealed and the group says nothing; counts are clear", async () => {
  const storage = new MemoryStorage();
  const world = virtualWorld();
  const cipherOf = (name: string) =>
    aesGcm({
      current: name,
      keys: { [name]: Uint8Array.from({ length: 32 }, (_, n) => (n * 89 + name.length) % 251) },
    });
  const flow = durable("sealed", async (ctx) => {
    await ctx.step("ask", (info) => info.meter(tokens(5)));
    throw new Error("a private matter");
  });
  const app = createApp({ workflows: [flow], storage, world, prices, encryption: cipherOf("k") });
  await world.run(app.start(flow, undefined, { id: "r" }).then((run) => run.result().catch(() => null)));
  expect(await headOf(app, "r")).toMatchObject({
    error: { code: "thrown", message: "Error: a private matter" },
  });
  const kept = await headOf(storage, "r");
  expect(kept.usage).toMatchObject([{ label: "ask", inputTokens: 5, cost: 0.00001 }]);
  expect(JSON.stringify(kept)).not.toContain("private");
  const plain = createApp({ workflows: [flow], storage: new MemoryStorage(), world, bind: false });
  await world.run(plain.start(flow, undefined, { id: "r" }).then((run) => run.result().catch(() => null)));
  expect((await headOf(plain, "r")).error?.group).not.toBe(kept.error?.group);
  const without = createApp({ workflows: [flow], storage, world, bind: false });
  expect((await headOf(without, "r")).error).toEqual({ code: "thrown", group: kept.error?.group });
});

test.each([
  [{ luna: { input: -1, output: 1 } }, /price of "luna" is invalid/],
  [{ luna: { input: 1 } }, /price of "luna" is invalid/],
  [{ luna: { input: 1, output: 1, cached: 1 } }, /cached/],
])("a price that is none is refused: %j", (wrong, message) => {
  expect(() => createApp({ workflows: [], prices: wrong as never })).toThrow(message);
});

test("forks, children and spawned runs have the scope of their run, over chapters, too", async () => {
  const world = virtualWorld();
  const below = durable("below", (ctx) => ctx.step("s", () => 1));
  const above = durable("above-all", async (ctx, n: number): Promise<number> => {
    await ctx.child(below, undefined);
    await ctx.spawn(below, undefined, { id: `spawned-${n}`, ifExists: "keep" });
    return n < 2 ? ctx.continueAs(n + 1) : n;
  });
  const app = createApp({ workflows: [above, below], storage: new MemoryStorage(), world });
  await world.run(app.start(above, 1, { id: "r", scope: "tenant-1" }).then((run) => run.result()));
  await world.run(app.fork(above, "r", { from: "below" }).then((run) => run.result()));
  await world.run(app.run(below, undefined, { id: "free" }));
  const scopes = (await app.list({})).runs.map(({ runId, scope }) => [runId, scope] as const);
  expect(scopes.length).toBeGreaterThanOrEqual(6);
  for (const [runId, scope] of scopes)
    expect([runId, scope]).toEqual([runId, runId === "free" ? undefined : "tenant-1"]);
});
