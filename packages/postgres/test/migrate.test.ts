/** The seam of migrations: a made-up next version of the tables, and versions that are refused by name. */

import { expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { migrate, steps, versionOf, type Step } from "../src/migrate.ts";
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
