import { storageConformance } from "@durable/testing/conformance";
import { createApp, createWorker, durable } from "@durable/core";
import { Client, type QueryResultRow } from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { grantedTables } from "../src/sql/grants.ts";
import { freshSchema, sharedPool } from "./support/open.ts";
import { makeRoles, openGranted } from "./support/roles.ts";

const url = inject("postgres");
const sql = async <Row extends QueryResultRow>(text: string): Promise<Row[]> =>
  (await sharedPool(url).query<Row>(text)).rows;

describe("migrate({ grantTo })", () => {
  test("knows every table", async () => {
    const schema = freshSchema();
    await PostgresStorage.migrate({ url, schema });
    const rows = await sql<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = '${schema}'`,
    );
    expect(rows.map(({ name }) => name).toSorted()).toEqual(grantedTables.toSorted());
  });

  test("gives the role of the README all that an app does, and nothing else", async () => {
    const { schema, app, ownerUrl, appUrl } = await makeRoles(url);
    await PostgresStorage.migrate({ url: ownerUrl, schema }, { grantTo: app });
    const storage = new PostgresStorage({ url: appUrl, schema, migrate: false });
    onTestFinished(() => storage.close());
    const flow = durable("least", async (ctx) => {
      const text = await ctx.step("large", () => "x".repeat(200_000));
      await ctx.sleep(1);
      return `${text.length} ${await ctx.suspend<string>("ask")}`;
    });
    const made = createApp({ storage, secret: "a secret for tests", workflows: [flow], patience: 0 });
    for (const id of ["one", "two"]) await made.start("least", undefined, { id, tags: { of: id } });
    const worker = createWorker(made, { interval: 20, purge: { olderThan: "1 day" } });
    const waiting = async (): Promise<number> => (await made.list({ status: "suspended" })).runs.length;
    await expect.poll(waiting).toBe(2);
    await worker.stop();
    await made.get("one").fork({ from: "large", id: "fork" });
    for (const { locator } of (await storage.list()).runs) await storage.delete(locator);
    expect((await storage.list()).runs).toEqual([]);
    expect(await sql(`SELECT count(*)::int AS left FROM ${schema}.blobs`)).toEqual([{ left: 0 }]);
    const client = new Client({ connectionString: appUrl });
    await client.connect();
    onTestFinished(() => client.end());
    for (const forbidden of [
      `UPDATE ${schema}.batches SET body = ''`,
      `UPDATE ${schema}.durable_version SET version = 5`,
      `DELETE FROM ${schema}.durable_version`,
      `UPDATE ${schema}.blobs SET body = ''`,
      `DROP TABLE ${schema}.runs`,
      `CREATE TABLE ${schema}.mine (x int)`,
    ])
      await expect(client.query(forbidden), forbidden).rejects.toMatchObject({ code: "42501" });
  });

  test("grants what an earlier migration did not, and may be repeated", async () => {
    const { schema, app, ownerUrl, appUrl } = await makeRoles(url);
    await PostgresStorage.migrate({ url: ownerUrl, schema });
    const storage = new PostgresStorage({ url: appUrl, schema, migrate: false });
    onTestFinished(() => storage.close());
    await expect(storage.list()).rejects.toMatchObject({
      code: "storage-readonly",
      message: expect.stringContaining("PostgresStorage.migrate(url, { grantTo })"),
    });
    const grant = (): Promise<unknown> =>
      PostgresStorage.migrate({ url: ownerUrl, schema }, { grantTo: [app] });
    await Promise.all([grant(), grant(), grant()]);
    expect((await storage.list()).runs).toEqual([]);
  });

  test("refuses what it cannot grant to", async () => {
    const place = { url, schema: freshSchema() };
    await expect(PostgresStorage.migrate(place, { grantTo: "nobody; DROP" })).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("does not exist; create it first"),
    });
    expect(await sql(`SELECT to_regnamespace('${place.schema}') AS found`)).toEqual([{ found: null }]);
    const wrong = (options: object): Promise<unknown> => PostgresStorage.migrate(place, options);
    await expect(wrong({ grantTo: "" })).rejects.toMatchObject({ code: "invalid-options" });
    await expect(wrong({ grantto: "x" })).rejects.toThrow(/PostgresStorage.migrate has no option "grantto"/);
  });
});

// `npm test` runs the suite of features under this role.
if (inject("full"))
  storageConformance("PostgresStorage under the role of an application", async ({ now }) => {
    const place = await openGranted(url);
    return {
      storage: place.open({ now }),
      reopen: () => Promise.resolve(place.open({ now })),
      close: place.close,
    };
  });
