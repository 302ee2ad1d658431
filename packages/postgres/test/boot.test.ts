import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { QueryResultRow } from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { migrate, steps, versionOf } from "../src/migrate.ts";
import { settingsOf } from "../src/settings.ts";
import { headOf, request } from "./support/head.ts";
import { cuttingProxy, type Cut } from "./support/proxy.ts";
import { freshSchema, sharedPool } from "./support/open.ts";
import { startPostgres } from "./support/server.ts";

const url = inject("postgres");
const sql = async <Row extends QueryResultRow>(text: string): Promise<Row[]> =>
  (await sharedPool(url).query<Row>(text)).rows;

/** A handle that is closed after the test. */
function opened(options: ConstructorParameters<typeof PostgresStorage>[0]): PostgresStorage {
  const storage = new PostgresStorage(options);
  onTestFinished(() => storage.close());
  return storage;
}

describe("first boots", () => {
  test("10 at the same time make the tables once, and all of them work", async () => {
    const schema = freshSchema();
    const handles = Array.from({ length: 10 }, () => opened({ url, schema, connections: 1 }));
    const heads = handles.map(() => headOf());
    await Promise.all(handles.map((handle, n) => handle.append(request(heads[n]!, 0))));
    expect((await handles[0]!.list()).runs).toHaveLength(10);
    expect(await sql(`SELECT version FROM ${schema}.durable_version`)).toEqual([
      { version: versionOf(steps) },
    ]);
  });

  test.runIf(inject("full"))(
    "of 4 processes, one of which is killed half-way, end with the same tables",
    async () => {
      const schema = freshSchema();
      const child = fileURLToPath(new URL("./support/boot-child.ts", import.meta.url));
      const children = Array.from({ length: 4 }, () =>
        spawn(process.execPath, ["--conditions=durable-source", child, url, schema], { stdio: "pipe" }),
      );
      const codes = children.map((one) => new Promise((resolve) => one.once("exit", resolve)));
      children[0]?.stdout.once("data", () => children[0]?.kill("SIGKILL"));
      expect((await Promise.all(codes)).slice(1)).toEqual([0, 0, 0]);
      expect((await opened({ url, schema }).list()).runs.length).toBeGreaterThanOrEqual(3);
    },
  );
});

describe("a schema that is not ours to change", () => {
  test("is refused when it is newer, and left as it is", async () => {
    const schema = freshSchema();
    await PostgresStorage.migrate({ url, schema });
    await sql(`UPDATE ${schema}.durable_version SET version = 99`);
    await expect(opened({ url, schema }).list()).rejects.toMatchObject({
      code: "newer-format",
      message: expect.stringMatching(/version 99, newer than this build reads .*Upgrade @durable\/postgres/),
    });
    await expect(PostgresStorage.migrate({ url, schema })).rejects.toMatchObject({ code: "newer-format" });
    expect(await sql(`SELECT version FROM ${schema}.durable_version`)).toEqual([{ version: 99 }]);
  });

  test("is refused when another program has it", async () => {
    const schema = freshSchema();
    await sql(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.runs (mine int)`);
    await expect(opened({ url, schema }).list()).rejects.toThrow(/belongs to another program/);
    expect(await sql(`SELECT * FROM ${schema}.runs`)).toEqual([]);
  });

  test("is refused without tables when the storage may not make them", async () => {
    const storage = opened({ url, schema: freshSchema(), migrate: false });
    await expect(storage.list()).rejects.toThrow(/Run PostgresStorage.migrate with the role that owns them/);
  });
});

test("a migration whose connection breaks half-way is an error, and the next call migrates", async () => {
  const proxy = await cuttingProxy(url);
  onTestFinished(() => proxy.close());
  const schema = freshSchema();
  const storage = opened({ url: proxy.url, schema });
  for (const how of ["request", "reply", "backend"] as const) {
    // The text of the migration contains those of the functions that append.
    const cuts: Cut[] = [how];
    proxy.plan = () => cuts.pop() ?? null;
    await expect(storage.list(), how).rejects.toMatchObject({ code: "storage-busy" });
    await proxy.settled();
  }
  expect((await storage.list()).runs).toEqual([]);
});

test("a migration that fails half-way leaves nothing behind, and the next one succeeds", async () => {
  const schema = freshSchema();
  const settings = settingsOf({ pool: sharedPool(url), schema });
  const broken = [...steps, () => "CREATE TABLE nowhere.at_all (x int)"];
  await expect(migrate(settings, broken)).rejects.toMatchObject({ code: "storage-failed" });
  expect(await sql(`SELECT to_regnamespace('${schema}') AS found`)).toEqual([{ found: null }]);
  await migrate(settings);
  const later = [...steps, (name: string) => `ALTER TABLE ${name}.runs ADD COLUMN more int`];
  await Promise.all([migrate(settings, later), migrate(settings, later)]);
  expect(await sql(`SELECT version FROM ${schema}.durable_version`)).toEqual([{ version: versionOf(later) }]);
});

describe("settings of a role or database that would break the promises", () => {
  const asRole = async (setting: string): Promise<string> => {
    const role = freshSchema();
    await sql(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'x'; ALTER ROLE ${role} SET ${setting}`);
    const address = new URL(url);
    [address.username, address.password] = [role, "x"];
    return address.href;
  };

  test("another isolation is refused, with what to do", async () => {
    const storage = opened(await asRole("default_transaction_isolation = 'repeatable read'"));
    await expect(storage.list()).rejects.toThrow(/Set it to "read committed"/);
  });

  test("transactions that are read-only are named", async () => {
    await PostgresStorage.migrate(url);
    const storage = opened(await asRole("default_transaction_read_only = on"));
    await expect(storage.append(request(headOf(), 0))).rejects.toMatchObject({ code: "storage-readonly" });
  });

  test("an append waits for the disk, although the role would not", async () => {
    const schema = freshSchema();
    const storage = opened({ url: await asRole("synchronous_commit = off"), schema });
    await storage.list();
    // A deferred trigger runs at the commit, so it sees what the commit does.
    await sql(`
      CREATE TABLE ${schema}.seen (setting text);
      CREATE FUNCTION ${schema}.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO ${schema}.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER see AFTER INSERT ON ${schema}.batches DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION ${schema}.see();`);
    const head = headOf();
    for (const position of [0, 1, 2]) await storage.append(request(head, position));
    await Promise.all([headOf(), headOf(), headOf()].map((one) => storage.append(request(one, 0))));
    expect(await sql(`SELECT DISTINCT setting, count(*)::int FROM ${schema}.seen GROUP BY setting`)).toEqual([
      { setting: "on", count: 6 },
    ]);
  });
});

test.runIf(inject("full"))("H14 a replica is refused: it lags behind, and takes no writes", async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  await PostgresStorage.migrate(server.url);
  writeFileSync(join(server.folder, "standby.signal"), "");
  // It never says that it takes writes, which is what a start waits for.
  server.restart().catch(() => {});
  const storage = opened(server.url);
  const code = (): Promise<unknown> => storage.list().catch((error: { code?: unknown }) => error.code);
  await expect.poll(code, { timeout: 60_000 }).toBe("storage-readonly");
});
