/** Migrations beside processes of the version before: no table is written anew, and what they call stays right. */

import { Client } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { migrate, steps } from "../src/migrate.ts";
import { settingsOf } from "../src/settings.ts";
import { freshSchema, sharedPool } from "./support/open.ts";

const url = inject("postgres");

/** A session of a process of the first version, which calls its functions as that process does. */
async function earlier(schema: string) {
  await migrate(settingsOf({ pool: sharedPool(url), schema }), steps.slice(0, 1));
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  const call = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await client.query(text.replaceAll("S.", `${schema}.`), values)).rows;
  const status = (ended: boolean): unknown[] => (ended ? ["completed", null] : ["running", 0]);
  return {
    call,
    create: async (locator: string, { ended = false, batch = "{}" } = {}): Promise<void> => {
      const text = `SELECT S.append_whole_1($1, 0, $2, 1, 1, 0, 1, NULL, -1, 'p', $3, $4, '[]', NULL, NULL, $1, 'loan', NULL, NULL, NULL,
        false, NULL, NULL) AS reason`;
      expect(await call(text, [locator, batch, ...status(ended)])).toEqual([{ reason: null }]);
    },
    grow: async (locator: string, position: number, { ended = false } = {}): Promise<void> => {
      const text = `SELECT S.append_1($1, $2, '{}', 1, $2 + 1, 0, 1, $3, $4, 'p', $5, $6) AS reason`;
      const lease = ended ? [null, -1] : ["one", 60_000];
      expect(await call(text, [locator, position, ...lease, ...status(ended)])).toEqual([{ reason: null }]);
    },
  };
}

test("migrating writes no table anew, and no row of runs that have ended or have no version", async () => {
  const schema = freshSchema();
  const old = await earlier(schema);
  for (const n of [1, 2, 3]) await old.create(`ended-${n}`, { ended: true });
  await old.create("open");
  await old.create("versioned", { batch: '{"entries":[{"version":"7"}]}' });
  const files = `SELECT relname, pg_relation_filenode(oid) AS file FROM pg_class
    WHERE relnamespace = '${schema}'::regnamespace AND relkind IN ('r', 't') ORDER BY relname`;
  const rows = "SELECT locator, ctid::text, xmin::text FROM S.runs WHERE locator <> 'versioned' ORDER BY id";
  const before = [await old.call(files), await old.call(rows)] as const;
  await PostgresStorage.migrate({ url, schema });
  expect(await old.call(files)).toEqual(expect.arrayContaining([...before[0]]));
  expect(await old.call(rows)).toEqual(before[1]);
  expect(await old.call("SELECT version FROM S.runs WHERE locator = 'versioned'")).toEqual([
    { version: "7" },
  ]);
});

test("a process of the version before goes on, and its runs are found by their end", async () => {
  const schema = freshSchema();
  const old = await earlier(schema);
  await old.create("before", { ended: true });
  for (const run of ["a", "b", "c"]) await old.create(run);
  await old.grow("a", 1);
  const lease = "SELECT starts_now, length_now FROM S.lease_1($1, '{two}', '{60000}', 'p', '{}', NULL)";
  const read = "SELECT kind FROM S.read_1($1, 0)";
  expect(await old.call(lease, [["b"]])).toEqual([{ starts_now: 1, length_now: 1 }]);
  expect(await old.call(read, ["a"])).toHaveLength(3);
  await PostgresStorage.migrate({ url, schema });
  const storage = new PostgresStorage({ url, schema });
  onTestFinished(() => storage.close());
  await old.grow("a", 2);
  await old.grow("a", 3, { ended: true });
  expect(await old.call(lease, [["c"]])).toEqual([{ starts_now: 1, length_now: 1 }]);
  expect(await old.call(read, ["a"])).toHaveLength(5);
  await old.create("after", { ended: true });
  const ended = async (): Promise<string[]> =>
    (await storage.list({ endedBefore: 1_000 })).runs.map(({ locator }) => locator);
  expect(await ended()).toEqual(["before", "after", "a"]);
  await old.grow("a", 4);
  expect(await ended(), "a run that goes on again").toEqual(["before", "after"]);
  await old.call("SELECT S.delete_1('after')");
  expect(await ended()).toEqual(["before"]);
  expect((await storage.read("a")).head).toMatchObject({ status: "running", wakeAt: 0 });
});
