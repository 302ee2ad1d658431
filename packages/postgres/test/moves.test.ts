import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyRuns, type Storage, type World } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { FolderBucket } from "@durable/core/folder";
import { SqliteStorage } from "@durable/core/sqlite";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { contentOf, unordered } from "../../core/test/copy/support/houses.ts";
import {
  effects,
  entriesOf,
  finish,
  moveIn,
  sealed,
  testWorld,
} from "../../core/test/copy/support/residents.ts";
import { playHistory, type Target } from "../../core/test/copy/support/play.ts";
import { PostgresStorage } from "../src/index.ts";
import { openSchema } from "./support/open.ts";

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "durable-moves-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

function closing<S extends Storage>(storage: S): S {
  onTestFinished(() => storage.close?.());
  return storage;
}

// A sample moves the sealed ones: those of the restored databases below are plain.
const kinds = [["sealed", sealed], ...(inject("full") ? ([["plain", {}]] as const) : [])] as const;
describe.each(kinds)("runs that wait (%s)", (_, more) => {
  test("finish after a move from SQLite to Postgres, and on to a bucket", async () => {
    const world = testWorld();
    const now = (): number => world.now();
    const place = openSchema(inject("postgres"));
    onTestFinished(() => place.close());
    const sqlite = closing(new SqliteStorage({ path: join(folder(), "journal.db"), now }));
    const postgres = place.open({ now });
    const bucket = new FolderBucket(folder(), { sync: false });
    const residents = await moveIn(sqlite, world, more);
    effects.length = 0;
    const [content, entries] = [await contentOf(sqlite), await entriesOf(sqlite, world, more)];
    expect(await copyRuns(sqlite, postgres, { concurrency: 1, readBack: place.open({ now }) })).toMatchObject(
      {
        runs: 13,
        refused: [],
        active: [],
      },
    );
    expect(await contentOf(postgres)).toEqual(content);
    expect(await entriesOf(postgres, world, more)).toEqual(entries);
    expect(await copyRuns(sqlite, postgres)).toMatchObject({ runs: 0, batches: 0, skipped: 13, refused: [] });

    const remote = new RemoteStorage(bucket, { world });
    const readBack = new RemoteStorage(bucket, { world });
    expect(await copyRuns(postgres, remote, { readBack })).toMatchObject({ runs: 13, refused: [] });
    expect(unordered(await contentOf(readBack))).toEqual(unordered(content));

    for (const home of [postgres, readBack]) {
      const { found, expected } = await finish(residents, home, world, more);
      expect(found).toEqual(expected);
    }
    expect(effects, "no recorded step ran again").toEqual([]);
  });
});

// oxlint-disable-next-line vitest/expect-expect -- playHistory holds the assertions
test("random histories arrive as they are, also in several copies and after a crash", async () => {
  for (let seed = 1; seed <= (inject("full") ? 60 : 2); seed++) {
    const place = openSchema(inject("postgres"));
    const open = (world: World): Target => ({
      storage: place.open({ now: () => world.now() }),
      reopen: () => place.open({ now: () => world.now() }),
    });
    await playHistory(seed, open, false);
    await place.close();
  }
});

/** A database of its own on the shared server. */
async function database(admin: Client, name: string, template = "template1"): Promise<string> {
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = new URL(inject("postgres"));
  url.pathname = `/${name}`;
  return url.href;
}

const [dump, restore] = ["pg_dump", "pg_restore"] as const;

/** The tool on this machine, if it is as new as the server: an older one refuses. */
async function dumpTool(admin: Client): Promise<boolean> {
  const [row] = (await admin.query<{ server_version_num: string }>("SHOW server_version_num")).rows;
  try {
    const major = Number(/\) (\d+)/.exec(execFileSync(dump, ["--version"], { encoding: "utf8" }))?.[1]);
    return major >= Math.floor(Number(row?.server_version_num) / 10_000);
  } catch {
    return false;
  }
}

describe("a restored database has every run, and its old tokens are valid:", () => {
  const admin = new Client(inject("postgres"));
  const made: string[] = [];
  const named = (what: string): string => {
    const name = `${what}_${process.pid}_${Date.now()}_${made.length}`;
    made.push(name);
    return name;
  };
  beforeAll(() => admin.connect());
  afterAll(async () => {
    for (const name of made) await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.end();
  });

  /** One database for all tests, which only read it. */
  let source: ReturnType<typeof prepare> | undefined;
  const prepared = (): ReturnType<typeof prepare> => (source ??= prepare());
  const prepare = async () => {
    const world = testWorld();
    const name = named("moves");
    const url = await database(admin, name);
    const storage = new PostgresStorage({ url, now: () => world.now() });
    const residents = await moveIn(storage, world);
    const content = await contentOf(storage);
    await storage.close();
    return { name, world, url, residents, content };
  };
  type Prepared = Awaited<ReturnType<typeof prepare>>;

  /** What a database has, and what became of its runs. */
  const restored = async ({ world, residents, content }: Prepared, url: string) => {
    const storage = new PostgresStorage({ url, now: () => world.now() });
    const kept = unordered(await contentOf(storage));
    const { found, expected } = await finish(residents, storage, world);
    await storage.close();
    return { found: { kept, ...found }, expected: { kept: unordered(content), ...expected } };
  };

  test("a copy of the whole database", async () => {
    const on = await prepared();
    const { found, expected } = await restored(on, await database(admin, named("restored"), on.name));
    expect(found).toEqual(expected);
  });

  test("pg_dump and pg_restore", async (context) => {
    if (!(await dumpTool(admin))) context.skip("this machine has no pg_dump as new as the server");
    const on = await prepared();
    const file = join(folder(), "durable.dump");
    execFileSync(dump, ["--format=custom", "--schema=durable", `--file=${file}`, on.url]);
    const url = await database(admin, named("restored"));
    execFileSync(restore, ["--exit-on-error", "--single-transaction", `--dbname=${url}`, file]);
    const { found, expected } = await restored(on, url);
    expect(found).toEqual(expected);
  });

  test("copyRuns to a SQLite file, and back into an empty database", async () => {
    const on = await prepared();
    const now = (): number => on.world.now();
    const file = closing(new SqliteStorage({ path: join(folder(), "backup.db"), now }));
    const live = closing(new PostgresStorage({ url: on.url, now }));
    await copyRuns(live, file);
    await live.close();
    const url = await database(admin, named("restored"));
    const empty = new PostgresStorage({ url, now });
    expect(await copyRuns(file, empty)).toMatchObject({ runs: 13, refused: [] });
    await empty.close();
    const { found, expected } = await restored(on, url);
    expect(found).toEqual(expected);
  });
});
