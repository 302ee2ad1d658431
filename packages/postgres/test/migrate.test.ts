/** The seam of migrations: a made-up next version of the tables, and versions that are refused by name. */

import type { RunHead } from "@durable/core";
import { expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { migrate, planMigration, steps, versionOf, type Step } from "../src/migrate.ts";
import { settingsOf } from "../src/settings.ts";
import { headOf, request } from "./support/head.ts";
import { freshSchema, sharedPool } from "./support/open.ts";

const url = inject("postgres");
const newest = versionOf(steps);
const settings = (schema: string) => settingsOf({ pool: sharedPool(url), schema });
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: { code: string }) => error.code,
  );

/** What a later version might do: a column, an index that finds runs by it, and a value for those that are there. */
const next: Step = (schema) => `ALTER TABLE ${schema}.runs ADD COLUMN flavour text;
  CREATE INDEX runs_by_flavour ON ${schema}.runs (flavour, id);
  UPDATE ${schema}.runs SET flavour = 'old';`;

test("a next version brings tables up to date beside a process of this one, and its index finds what they hold", async () => {
  const schema = freshSchema();
  const storage = new PostgresStorage({ url, schema });
  onTestFinished(() => storage.close());
  const head = headOf();
  await storage.append(request(head, 0));
  for (let n = 0; n < 2; n++) await migrate(settings(schema), [...steps, next]);
  // The process that has the tables open goes on.
  await storage.append(request(head, 1));
  const client = await sharedPool(url).connect();
  onTestFinished(() => client.release());
  await client.query("SET enable_seqscan = off");
  const found = `SELECT locator, length FROM ${schema}.runs WHERE flavour = 'old'`;
  expect((await client.query(found)).rows).toEqual([{ locator: head.locator, length: 2 }]);
  const plan = await client.query<{ "QUERY PLAN": string }>(`EXPLAIN ${found}`);
  expect(plan.rows.map((row) => row["QUERY PLAN"]).join("\n")).toContain("runs_by_flavour");
  const version = await client.query(`SELECT version FROM ${schema}.durable_version`);
  expect(version.rows).toEqual([{ version: newest + 1 }]);
  expect(await codeOf(migrate(settings(schema)))).toBe("newer-format");
});

/** The same, for tables that are in use. */
const nextOnline: Step = {
  change: (schema) => `ALTER TABLE ${schema}.runs ADD COLUMN IF NOT EXISTS flavour text`,
  fill: (schema) => `WITH part AS MATERIALIZED (
      SELECT id, locator FROM ${schema}.runs WHERE locator > $1 ORDER BY locator LIMIT $2 FOR UPDATE
    ), filled AS (
      UPDATE ${schema}.runs SET flavour = 'old' WHERE id IN (SELECT id FROM part) AND flavour IS NULL
    ) SELECT max(locator) AS last FROM part`,
  indexes: { runs_by_flavour: (schema) => `ON ${schema}.runs (flavour, id)` },
};

const versionIn = async (schema: string): Promise<number | undefined> => {
  const found = await sharedPool(url).query<{ version: number }>(
    `SELECT version FROM ${schema}.durable_version`,
  );
  return found.rows[0]?.version;
};

/** A schema with runs, and the storage that made it. */
async function filled(runs: number): Promise<{ schema: string; storage: PostgresStorage; heads: RunHead[] }> {
  const schema = freshSchema();
  const storage = new PostgresStorage({ url, schema });
  onTestFinished(() => storage.close());
  const heads = Array.from({ length: runs }, () => headOf());
  await Promise.all(heads.map((head) => storage.append(request(head, 0))));
  return { schema, storage, heads };
}

test("an online step waits for no lock for long, so that appends go on beside a backup", async () => {
  const { schema, storage, heads } = await filled(120);
  const backup = await sharedPool(url).connect();
  await backup.query("BEGIN");
  await backup.query(`SELECT count(*) FROM ${schema}.runs`);
  const patience = { lockMs: 50, tries: 1_000, rows: 50 };
  let isOver = false;
  const migrating = migrate({ ...settings(schema), patience }, [...steps, nextOnline]).finally(
    () => void (isOver = true),
  );
  // While the backup has the tables, the migration gets no lock, and every append does.
  for (const head of heads.slice(0, 100)) await storage.append(request(head, 1));
  expect([isOver, await versionIn(schema)]).toEqual([false, newest]);
  await backup.query("COMMIT");
  backup.release();
  await migrating;
  expect(await versionIn(schema)).toBe(newest + 1);
  const old = await sharedPool(url).query(
    `SELECT count(*)::int AS n FROM ${schema}.runs WHERE flavour = 'old'`,
  );
  expect(old.rows).toEqual([{ n: 120 }]);
  await storage.append(request(heads[0] ?? headOf(), 2));
});

test("rows are filled a few at a time, and none is looked at twice", async () => {
  const { schema } = await filled(23);
  const counting: Step = {
    change: (quoted) => `CREATE TABLE ${quoted}.seen (n int)`,
    fill: (quoted) => `WITH part AS MATERIALIZED (
        SELECT locator FROM ${quoted}.runs WHERE locator > $1 ORDER BY locator LIMIT $2
      ), noted AS (INSERT INTO ${quoted}.seen SELECT count(*) FROM part)
      SELECT max(locator) AS last FROM part`,
  };
  const patience = { lockMs: 1_000, tries: 10, rows: 10 };
  await migrate({ ...settings(schema), patience }, [...steps, counting]);
  const seen = await sharedPool(url).query(`SELECT n FROM ${schema}.seen ORDER BY n DESC`);
  expect(seen.rows).toEqual([{ n: 10 }, { n: 10 }, { n: 3 }, { n: 0 }]);
});

test("an online migration that gave up or was killed goes on, also behind an index that was left half-built", async () => {
  const { schema } = await filled(3);
  const pool = sharedPool(url);
  const blocker = await pool.connect();
  await blocker.query("BEGIN");
  await blocker.query(`SELECT count(*) FROM ${schema}.runs`);
  const hasty = { ...settings(schema), patience: { lockMs: 20, tries: 2, rows: 1 } };
  await expect(migrate(hasty, [...steps, nextOnline])).rejects.toMatchObject({
    code: "storage-busy",
    message: expect.stringContaining("Migrate again"),
  });
  await blocker.query("COMMIT");
  blocker.release();
  // As a process that is killed leaves it: a unique index over equal values cannot be built, and stays as an invalid one.
  await expect(
    pool.query(`CREATE UNIQUE INDEX CONCURRENTLY runs_by_flavour ON ${schema}.runs ((1))`),
  ).rejects.toThrow(/unique/);
  await Promise.all([migrate(hasty, [...steps, nextOnline]), migrate(hasty, [...steps, nextOnline])]);
  const valid = await pool.query(`SELECT indisvalid AS valid, indisunique AS single FROM pg_index
    WHERE indexrelid = '${schema}.runs_by_flavour'::regclass`);
  expect(valid.rows).toEqual([{ valid: true, single: false }]);
  expect(await versionIn(schema)).toBe(newest + 1);
});

test("a dry run says what would be done, and does nothing", async () => {
  const schema = freshSchema();
  const plan = await PostgresStorage.migrate({ url, schema }, { dryRun: true, grantTo: "durable_app" });
  expect(plan).toMatchObject({ from: 0, to: newest });
  expect(plan.statements.join("\n")).toContain(
    `GRANT SELECT, INSERT, UPDATE, DELETE ON "${schema}".runs TO "durable_app"`,
  );
  expect(await sharedPool(url).query(`SELECT FROM pg_namespace WHERE nspname = '${schema}'`)).toMatchObject({
    rowCount: 0,
  });
  await PostgresStorage.migrate({ url, schema });
  expect(await PostgresStorage.migrate({ url, schema }, { dryRun: true })).toEqual({
    from: newest,
    to: newest,
    statements: [],
  });
  const online = await planMigration(settings(schema), [...steps, nextOnline]);
  expect(online.statements.at(-1)).toBe(
    `CREATE INDEX CONCURRENTLY runs_by_flavour ON "${schema}".runs (flavour, id);`,
  );
});

test("tables of a version before the first release are refused and not changed", async () => {
  const schema = freshSchema();
  const pool = sharedPool(url);
  await pool.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.durable_version (version int NOT NULL);
    INSERT INTO ${schema}.durable_version VALUES (${newest - 1})`);
  const refused = PostgresStorage.migrate({ url, schema });
  await expect(refused).rejects.toMatchObject({
    code: "pre-release",
    message: expect.stringContaining("Finish their runs with that version, or use another schema."),
  });
  const tables = `SELECT relname FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r'`;
  expect((await pool.query(tables)).rows).toEqual([{ relname: "durable_version" }]);
});
