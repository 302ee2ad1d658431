/** Workers that have a name are listed while they live; work is counted with and without a driver. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, createWorker, durable, MemoryStorage, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { fleetOf } from "@durable/core/inspect";
import { afterAll, expect, onTestFinished, test } from "vitest";

const secret = "only for this test, 32 characters";

async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const workersOf = async (app: App, count: number) => {
  const { workers } = await fleetOf(app);
  return workers?.length === count ? workers : null;
};

const folder = mkdtempSync(join(tmpdir(), "durable-fleet-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["memory", () => new MemoryStorage()],
  ["sqlite", () => new SqliteStorage(join(folder, "journal.db"))],
])("a named worker is listed until it stops, on %s", async (_, open) => {
  const storage = open();
  let finish = (): void => {};
  const held = new Promise<void>((resolve) => (finish = resolve));
  const slow = durable("slow", (ctx) => ctx.step("hold", () => held));
  const idle = durable("idle", () => "done");
  const app = createApp({ storage, secret, workflows: [slow, idle] });
  onTestFinished(async () => {
    await worker.stop();
    if ("close" in storage) await storage.close();
  });
  expect(await fleetOf(app)).toEqual({ workers: [], stopped: [], load: [], more: false });
  const other = createApp({ storage, secret, workflows: [] });
  await app.pause("idle", { reason: "a bug" });
  const nameless = createWorker(other, {});
  const worker = createWorker(app, { name: "mail-1", workflows: ["slow"], concurrency: 3 });
  const [info] = await until(() => workersOf(app, 1));
  expect(info).toMatchObject({ name: "mail-1", workflows: ["slow"], versions: null, concurrency: 3 });
  await app.start("slow", undefined, { id: "s" });
  const { load } = await until(async () => {
    const fleet = await fleetOf(other);
    return fleet.load.some(({ driven }) => driven === 1) ? fleet : null;
  });
  expect(load).toEqual([
    { workflow: "idle", driven: 0, due: 0, dueSince: null, paused: true },
    { workflow: "slow", driven: 1, due: 0, dueSince: null, paused: false },
  ]);
  finish();
  await app.get("s").result();
  await nameless.stop();
  await worker.stop();
  const { workers, stopped } = await fleetOf(app);
  expect(workers).toEqual([]);
  // It had a name, and is told of.
  expect(stopped).toEqual([{ name: "mail-1", since: info?.since, stoppedAt: expect.any(Number) }]);
});

test("workers of one name are told apart, and one that no longer writes is silent, then gone", async () => {
  const storage = new MemoryStorage();
  const app = createApp({ storage, secret, workflows: [], bind: false });
  const put = (id: string, silentMs: number): unknown => {
    const now = Date.now();
    const about = { name: "w1", workflows: ["a"], versions: null, concurrency: 1, active: 0 };
    const worker = { ...about, since: now - silentMs - 1, seenAt: now - silentMs };
    return storage.limits.put?.(`worker ${id}`, JSON.stringify(worker), 60_000);
  };
  for (const [id, ms] of [
    ["dead", 40_000],
    ["live", 10_000],
    ["gone", 61_000],
  ] as const)
    await put(id, ms);
  expect((await fleetOf(app)).workers?.map(({ name, id, silent }) => [name, id, silent])).toEqual([
    ["w1", "dead", true],
    ["w1", "live", false],
  ]);
});

test("runs that are due and have no driver are counted, with the time of the first", async () => {
  const storage = new MemoryStorage();
  const nap = durable("nap", (ctx) => ctx.sleep(1), { storage, secret });
  for (const id of ["a", "b"]) await nap.start(undefined, { id, drive: false });
  const app = createApp({ storage, secret, workflows: [nap], bind: false });
  const [due] = (await fleetOf(app)).load;
  expect(due).toEqual({ workflow: "nap", driven: 0, due: 2, dueSince: expect.any(Number), paused: false });
  expect(due?.dueSince).toBeLessThanOrEqual(Date.now());
});

test("a damaged row of a worker hides no other", async () => {
  const storage = new MemoryStorage();
  const app = createApp({ storage, secret, workflows: [], bind: false });
  const worker = {
    name: "w",
    workflows: ["a"],
    versions: null,
    concurrency: 1,
    active: 0,
    since: Date.now(),
    seenAt: Date.now(),
  };
  const hostile = [
    "[",
    "null",
    "5",
    "[]",
    "{}",
    { ...worker, workflows: "a" },
    { ...worker, versions: [5] },
  ].map((text) => (typeof text === "string" ? text : JSON.stringify(text)));
  for (const [n, text] of hostile.entries()) await storage.limits.put?.(`worker ${n}`, text, 60_000);
  await storage.limits.put?.("worker good", JSON.stringify(worker), 60_000);
  expect((await fleetOf(app)).workers).toEqual([{ ...worker, id: "good", silent: false }]);
});
