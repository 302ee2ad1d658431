import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { request } from "./support/samples.ts";
import { spyOnDatabases, sqliteError, type DatabaseSpy } from "./support/spy.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let spy: DatabaseSpy | null = null;
const storages: SqliteStorage[] = [];

beforeEach(() => {
  temp = tempFolder();
});
afterEach(async () => {
  spy?.restore();
  spy = null;
  await killChildren();
  await Promise.all(storages.splice(0).map((storage) => storage.close()));
  temp.remove();
});

function open(busyTimeout?: number): SqliteStorage {
  const storage = new SqliteStorage(busyTimeout === undefined ? temp.path : { path: temp.path, busyTimeout });
  storages.push(storage);
  return storage;
}

async function lock(begin = "BEGIN IMMEDIATE", ms = 0): Promise<Child> {
  const child = new Child("sqlite-child-lock.ts", [temp.path, begin, String(ms)]);
  await child.line("locked");
  return child;
}

describe("a file that another process writes to (H13)", () => {
  it("makes appends wait, and they succeed; reads and the process go on meanwhile", async () => {
    const storage = open();
    await storage.append(request("one", 0));
    const child = await lock("BEGIN IMMEDIATE", 400);
    const appends = Promise.all([storage.append(request("one", 1)), storage.append(request("two", 0))]);
    let turns = 0;
    for (let waiting = true; waiting; turns++) {
      expect((await storage.read("one")).batches).toContain("one 0");
      const turn = new Promise<boolean>((resolve) => setTimeout(resolve, 1, true));
      waiting = await Promise.race([appends.then(() => false), turn]);
    }
    expect(turns).toBeGreaterThan(10);
    await child.done();
    expect((await storage.read("one")).length).toBe(2);
  });

  it("is storage-busy after the limit, and works again afterwards", async () => {
    const storage = open(100);
    await storage.append(request("one", 0));
    const child = await lock();
    const refused = await Promise.allSettled([
      storage.append(request("one", 1)),
      storage.append(request("two", 0)),
      storage.lease("one", "a", 1_000),
    ]);
    expect(refused.map((result) => result.status === "rejected" && result.reason.code)).toEqual([
      "storage-busy",
      "storage-busy",
      "storage-busy",
    ]);
    expect((await storage.list()).runs).toHaveLength(1);
    await child.kill();
    await storage.append(request("one", 1));
    expect((await storage.read("one")).batches).toEqual(["one 0", "one 1"]);
  });

  it("keeps its order when it was busy", async () => {
    const storage = open();
    const other = new DatabaseSync(temp.path);
    other.exec("BEGIN IMMEDIATE");
    const appends = Array.from({ length: 50 }, (_, position) => storage.append(request("one", position)));
    await new Promise((resolve) => setTimeout(resolve, 50));
    other.exec("COMMIT");
    other.close();
    await Promise.all(appends);
    expect((await storage.read("one")).length).toBe(50);
    expect(storage.commits).toBe(1);
  });

  it("is waited for by close", async () => {
    const storage = open();
    const reader = open();
    const child = await lock("BEGIN IMMEDIATE", 200);
    const appends = Array.from({ length: 2_500 }, (_, n) => storage.append(request(`run${n}`, 0)));
    const closing = storage.close();
    await expect(storage.append(request("late", 0))).rejects.toMatchObject({ code: "storage-closed" });
    await closing;
    await Promise.all(appends);
    await child.done();
    expect((await reader.read("run2499")).length).toBe(1);
    expect((await reader.read("late")).length).toBe(0);
  });

  it("does not keep close waiting for ever, and no write goes untold", async () => {
    const storage = open(80);
    const child = await lock();
    const appends = Promise.allSettled([
      storage.append(request("one", 0)),
      storage.append(request("two", 0)),
    ]);
    await storage.close();
    expect((await appends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await child.kill();
  });

  it("is read again when reading it was busy", async () => {
    spy = spyOnDatabases();
    const storage = open();
    await storage.append(request("one", 0));
    const answers = [sqliteError(261), sqliteError(5), null];
    const database = spy.last;
    const prepare = database.prepare.bind(database);
    database.prepare = (text) => {
      const error = answers.shift();
      if (error) throw error;
      return prepare(text);
    };
    expect((await storage.list({ workflow: "sample" })).runs).toHaveLength(1);
    expect(answers).toEqual([]);
  });
});

describe("a file that is locked when it is opened first (H56)", () => {
  it("is waited for", async () => {
    const child = await lock("BEGIN EXCLUSIVE", 300);
    const storage = open();
    await storage.append(request("one", 0));
    expect(await child.done()).toEqual(["locked", "released"]);
  });

  it("is storage-busy after the limit", async () => {
    await lock("BEGIN EXCLUSIVE");
    expect(() => open(100)).toThrow(expect.objectContaining({ code: "storage-busy" }));
  });

  it("opens at once while somebody only writes to it", async () => {
    await open().append(request("one", 0));
    const child = await lock();
    expect((await open(0).read("one")).length).toBe(1);
    await child.kill();
  });
});
