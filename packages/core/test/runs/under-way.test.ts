import { createApp, createWorker, durable, MemoryStorage, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { underWay } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { virtualWorld } from "@durable/testing";
import { expect, onTestFinished, test } from "vitest";
import { UnderWay, underWayIn } from "../../src/runs/under-way.ts";
import { memoryFolder, tempFolder } from "../support/sqlite-temp.ts";

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

test.each(storages)("a step and a stream are seen while they work, and no longer, on %s", async (_, open) => {
  const storage = open();
  const hold = Promise.withResolvers<void>();
  const flow = durable("works", (ctx) =>
    ctx.parallel({
      step: (c) => c.step("long", () => hold.promise),
      stream: (c) =>
        c.stream("words", async function* () {
          yield "Once upon ";
          yield { type: "text-delta", delta: "a time" };
          await hold.promise;
        }),
    }),
  );
  const app = createApp({ workflows: [flow], storage });
  const other = createApp({ workflows: [], storage });
  const begun = Date.now();
  const run = await app.start(flow, undefined, { id: "r" });
  const keys = async () => (await underWay(other)).get("r")?.map(({ key }) => key.replace(/.*\//, "")) ?? [];
  await expect.poll(keys, { timeout: 10_000 }).toEqual(["long", "words"]);
  const [step, stream] = (await underWay(other)).get("r") ?? [];
  expect(step).toMatchObject({ runId: "r", attempt: 1, since: expect.any(Number) });
  expect(step?.since).toBeGreaterThanOrEqual(begun);
  expect(stream?.words).toBe("Once upon a time");
  hold.resolve();
  await run.result();
  await expect.poll(keys, { timeout: 10_000 }).toEqual([]);
});

test("what a worker with a name drives is shown with the name, as long as the worker is there", async () => {
  const storage = new MemoryStorage();
  const hold = Promise.withResolvers<void>();
  const flow = durable("named", (ctx) => ctx.step("long", () => hold.promise));
  const app = createApp({ workflows: [flow], storage, bind: false });
  const worker = createWorker(app, { name: "mail-1", interval: 50 });
  await app.start("named", undefined, { id: "r" });
  const named = async () => (await underWay(app)).get("r")?.map(({ worker: name }) => name);
  await expect.poll(named, { timeout: 10_000 }).toEqual(["mail-1"]);
  hold.resolve();
  await app.get("r").result();
  await worker.stop();
  const again = Promise.withResolvers<void>();
  const late = durable("late", (ctx) => ctx.step("long", () => again.promise));
  const other = createApp({ workflows: [late], storage, bind: false });
  await other.start("late", undefined, { id: "s" });
  await expect
    .poll(async () => (await underWay(other)).get("s")?.map(({ worker: name }) => name ?? null), {
      timeout: 10_000,
    })
    .toEqual([null]);
  again.resolve();
  await other.get("s").result();
});

test("nothing is written for short work, and long work at most once a second", async () => {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const puts: string[] = [];
  const limits = {
    ...storage.limits,
    put: async (...given: Parameters<NonNullable<typeof storage.limits.put>>) => {
      puts.push(given[1]);
      await storage.limits.put?.(...given);
    },
  };
  const shows = new UnderWay(world, async () => ({ limits, cipher: null }));
  const begin = (key: string, said = () => "") =>
    shows.begin({ runId: "r", kind: "step", key, attempt: 1, since: world.now() }, said);
  const short = begin("short");
  await world.advance(900);
  const next = begin("next");
  short();
  await world.advance(900);
  next();
  await world.advance(5_000);
  expect(puts).toEqual([]);
  let words = 0;
  const long = begin("long", () => `${(words += 1)} words`);
  await world.advance(10_000);
  expect(puts.length).toBeGreaterThanOrEqual(8);
  expect(puts.length).toBeLessThanOrEqual(11);
  long();
  shows.rest();
  await world.advance(1_000);
  expect(puts.at(-1)).toBe("");
  expect(await underWayIn({ limits, cipher: null })).toEqual(new Map());
});

test("a storage that cannot write it disturbs nobody", async () => {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  let tries = 0;
  const limits = { ...storage.limits, put: () => Promise.reject(new Error(`try ${(tries += 1)}`)) };
  const shows = new UnderWay(world, async () => ({ limits, cipher: null }));
  shows.begin({ runId: "r", kind: "step", key: "long", attempt: 1, since: world.now() }, () => "");
  await world.advance(5_000);
  expect(tries).toBeGreaterThan(2);
  shows.rest();
});

test("with encryption, only who has the key sees it", async () => {
  const key = "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY";
  const encryption = aesGcm({ current: "k1", keys: { k1: key } });
  const storage = new MemoryStorage();
  const hold = Promise.withResolvers<void>();
  const flow = durable("works", (ctx) => ctx.step("of-ada", () => hold.promise));
  const app = createApp({ workflows: [flow], storage, encryption });
  const run = await app.start(flow, undefined, { id: "r" });
  await sleep(1_100);
  await expect.poll(async () => (await underWay(app)).has("r"), { timeout: 10_000 }).toBe(true);
  expect(JSON.stringify(await storage.limits.texts(""))).not.toContain("of-ada");
  expect((await underWay(createApp({ workflows: [], storage }))).has("r")).toBe(false);
  hold.resolve();
  await run.result();
});

test("a text that is damaged, or that nobody with the key wrote, is not shown, and hides no other", async () => {
  const key = "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY";
  const cipher = aesGcm({ current: "k1", keys: { k1: key } });
  const { limits } = new MemoryStorage();
  const put = (name: string, text: string) => limits.put?.(name, text, 60_000);
  const doing = { runId: "r", kind: "step", key: "good", attempt: 1, since: 5 };
  const hostile = [
    "",
    "[",
    "null",
    "5",
    "{}",
    "[null]",
    "[[]]",
    JSON.stringify([{ ...doing, runId: {} }]),
    JSON.stringify([{ ...doing, since: "now" }]),
    JSON.stringify([{ ...doing, kind: "run" }]),
    JSON.stringify([{ ...doing, words: [] }]),
    "sealed ",
    "sealed x",
  ];
  for (const [n, text] of hostile.entries()) await put(`doing ${n}`, text);
  await put("doing good", JSON.stringify([doing]));
  const sealed = await cipher.seal(JSON.stringify([{ ...doing, runId: "s" }]), { runId: "", at: "doing s" });
  await put("doing s", `sealed ${sealed}`);
  await put("doing moved", `sealed ${sealed}`);
  expect([...(await underWayIn({ limits, cipher: null }))]).toEqual([["r", [doing]]]);
  expect([...(await underWayIn({ limits, cipher }))]).toEqual([["s", [{ ...doing, runId: "s" }]]]);
});
