/**
 * Another tenant of the database: a role with CONNECT and no right to the schema. It can take any advisory lock and send any
 * notification, and neither may stop the work.
 */

import { createApp, createWorker, durable, type App, type Context } from "@durable/core";
import { Client } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { freshSchema, sharedPool } from "./support/open.ts";

const url = inject("postgres");

async function stranger(): Promise<Client> {
  const role = `s_${freshSchema()}`;
  await sharedPool(url).query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
  const address = new URL(url);
  [address.username, address.password] = [role, "secret"];
  const client = new Client({ connectionString: address.href });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** What a stranger can guess: names of locks are made of the schema, the workflow and the key. */
const lockNames = (schema: string): string[] =>
  ["slot sole k", ...Array.from({ length: 6 }, (_, n) => `singleton sole k${n}`)].flatMap((name) => [
    `"${schema}" ${name}`,
    `${schema} ${name}`,
    name,
    `durable ${schema}`,
  ]);

async function lockAll(client: Client, names: readonly string[]): Promise<void> {
  await client.query("BEGIN");
  for (const name of names)
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [name]);
  await client.query("SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(0, 2000) AS n");
}

const secret = "a secret for tests, long enough";

function appIn(storage: PostgresStorage): App {
  const work = (ctx: Context, n: number): Promise<number> => ctx.step("work", () => n);
  const sole = durable("sole", work, { concurrency: { max: 1, key: () => "k" } });
  return createApp({ storage, workflows: [sole], secret, bind: false });
}

test("locks of a role with CONNECT only stop no first boot, no start and no drive", async () => {
  const schema = freshSchema();
  const client = await stranger();
  const { rows } = await client.query("SELECT has_schema_privilege($1, 'public', 'CREATE') AS may", [
    client.user,
  ]);
  expect(rows).toEqual([{ may: false }]);
  await lockAll(client, lockNames(schema));
  const storages = [1, 2, 3].map(() => new PostgresStorage({ url, schema, connections: 2 }));
  for (const storage of storages) onTestFinished(() => storage.close());
  // First boots at once.
  await Promise.all(storages.map((storage) => storage.list()));
  const apps = storages.map(appIn);
  const workers = apps.map((app) => createWorker(app, { interval: 20 }));
  for (const worker of workers) onTestFinished(() => worker.stop());
  const ids = await Promise.all(
    Array.from({ length: 12 }, async (_, n) => {
      const started = await apps[n % 3]!.start("sole", n, { id: `run-${n}`, singleton: `k${n % 6}` });
      return started.id;
    }),
  );
  for (const id of new Set(ids)) expect(await apps[0]!.get(id).result()).toBe(Number(id.slice(4)));
  const held = await sharedPool(url).query(
    "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND pid <> $1",
    [(client as unknown as { processID: number }).processID],
  );
  expect(held.rows).toEqual([{ n: 0 }]);
});

test("a role with CONNECT only can neither lock nor read the rows that are locked", async () => {
  const schema = freshSchema();
  await PostgresStorage.migrate({ url, schema });
  const client = await stranger();
  for (const text of [
    `SELECT FROM ${schema}.locks FOR UPDATE`,
    `SELECT FROM ${schema}.durable_version FOR UPDATE`,
    `BEGIN; LOCK TABLE ${schema}.locks`,
    `BEGIN; LOCK TABLE ${schema}.runs IN ACCESS SHARE MODE`,
    `INSERT INTO ${schema}.locks VALUES (1)`,
    `SELECT ${schema}.lock_name('slot sole k')`,
  ]) {
    await expect(client.query(text), text).rejects.toMatchObject({ code: "42501" });
    await client.query("ROLLBACK");
  }
});
