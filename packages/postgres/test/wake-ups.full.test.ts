/** How many statements a start costs a fleet whose workers are idle: counted, whatever the machine. */

import { createApp, createWorker, durable } from "@durable/core";
import { Pool, type PoolClient } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { openSchema } from "./support/open.ts";

const url = inject("postgres");
const idle = "1 hour";

/** A pool that counts its statements. */
function counting(sent: string[]): Pool {
  const pool = new Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
  pool.on("error", () => {});
  pool.on("connect", (client: PoolClient) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      sent.push((args[0] as { text: string }).text);
      return query(...args);
    }) as typeof client.query;
  });
  onTestFinished(() => pool.end());
  return pool;
}

test("an idle worker that polls seldom and does not listen sends nothing, and does what its process starts", async () => {
  const { schema, open, close } = openSchema(url);
  onTestFinished(close);
  await open().list();
  const nap = durable("nap", async (ctx) => {
    await ctx.sleep("2s");
    return ctx.step("work", () => "rested");
  });
  const sent: string[] = [];
  const storage = new PostgresStorage({ pool: counting(sent), schema, listen: false, poll: idle });
  const app = createApp({
    storage,
    workflows: [nap],
    secret: "a secret for tests",
    bind: false,
    patience: 0,
  });
  const worker = createWorker(app, { idleInterval: idle });
  onTestFinished(async () => {
    await worker.stop();
    await storage.close();
  });
  const settled = async (): Promise<void> => {
    for (let before = -1; before !== sent.length;) {
      before = sent.length;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  };
  await settled();
  const before = sent.length;
  // Six polls of a worker whose notifications do not arrive.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(sent.length).toBe(before);
  const run = await app.start(nap, undefined, { drive: false });
  const other = open();
  await expect
    .poll(async () => (await other.list({ status: "completed" })).runs.length, { timeout: 60_000 })
    .toBe(1);
  expect(await run.result()).toBe("rested");
}, 120_000);

test("a start wakes about one of twenty idle workers", async () => {
  const [workers, runs, warm] = [20, 20, 8];
  const { schema, open, close } = openSchema(url);
  onTestFinished(close);
  await open().list();
  const bodies = new Map<string, number>();
  const five = durable("five", async (ctx) => {
    for (const step of ["a", "b", "c", "d", "e"])
      await ctx.step(step, () => void bodies.set(ctx.runId, (bodies.get(ctx.runId) ?? 0) + 1));
  });
  const appOf = (storage: PostgresStorage) =>
    createApp({ storage, workflows: [five], secret: "a secret for tests", bind: false });
  const sent: string[] = [];
  const storages = Array.from(
    { length: workers },
    () => new PostgresStorage({ pool: counting(sent), schema, poll: idle, migrate: false }),
  );
  const fleet = storages.map((storage) => createWorker(appOf(storage), { idleInterval: idle }));
  onTestFinished(async () => {
    await Promise.all(fleet.map((worker) => worker.stop()));
    await Promise.all(storages.map((storage) => storage.close()));
  });
  await expect.poll(() => storages.every((storage) => storage.listening), { timeout: 60_000 }).toBe(true);
  const client = appOf(open());
  const run = async (id: string): Promise<void> => {
    await client.start(five, undefined, { id, drive: false });
    await expect.poll(() => bodies.get(id), { timeout: 60_000, interval: 20 }).toBe(5);
    // Those that looked in vain have gone to sleep again.
    for (let before = -1; before !== sent.length;) {
      before = sent.length;
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  };
  for (let n = 0; n < warm; n++) await run(`warm-${n}`);
  sent.length = 0;
  for (let n = 0; n < runs; n++) await run(`run-${n}`);
  expect([...bodies.values()].every((count) => count === 5)).toBe(true);
  const per = (isIt: (text: string) => boolean): number => sent.filter(isIt).length / runs;
  // About 12 do the work. When all workers looked, it was 101, and 19 of them claims.
  expect(per(() => true)).toBeLessThan(45);
  expect(per((text) => text.includes(".claim("))).toBeLessThan(8);
}, 240_000);
