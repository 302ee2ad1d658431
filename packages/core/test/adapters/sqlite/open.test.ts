import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DurableError } from "../../../src/index.ts";
import { named } from "../../../src/adapters/sqlite/errors.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { hasWalResetBug, warnOfWriters } from "../../../src/adapters/sqlite/old-sqlite.ts";
import { refuseNetwork } from "../../../src/adapters/sqlite/open.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { request, seeded } from "./support/samples.ts";
import { spyOnDatabases, sqliteError, type DatabaseSpy } from "./support/spy.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let spy: DatabaseSpy | null = null;

beforeEach(() => {
  temp = tempFolder();
});
afterEach(async () => {
  spy?.restore();
  spy = null;
  await killChildren();
  temp.remove();
});

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return DurableError.is(error) ? error.code : String(error);
  }
  return "none";
}

/** Descriptors this process has on files of the folder. */
function openFiles(): string[] {
  return readdirSync("/proc/self/fd")
    .map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return "";
      }
    })
    .filter((path) => path.startsWith(temp.folder));
}

describe("a journal file is opened for durability (H13)", () => {
  it("has WAL and synchronous=FULL", async () => {
    spy = spyOnDatabases();
    const storage = new SqliteStorage(temp.path);
    expect(spy.last.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(spy.last.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
    await storage.close();
  });

  it("has them again in a file that was left with other settings", async () => {
    await new SqliteStorage(temp.path).close();
    const other = new DatabaseSync(temp.path);
    other.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF");
    other.close();
    spy = spyOnDatabases();
    const storage = new SqliteStorage(temp.path);
    expect(spy.last.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    await storage.close();
  });

  it.each([
    ["journal_mode", "PRAGMA journal_mode = DELETE"],
    ["synchronous", "PRAGMA synchronous = NORMAL"],
  ])("is refused, and not left open, where %s does not hold", (pragma, instead) => {
    spy = spyOnDatabases((text) => (text.startsWith(`PRAGMA ${pragma} =`) ? instead : text));
    expect(() => new SqliteStorage(temp.path)).toThrow(new RegExp(`${pragma} is .* and must be`));
    expect(spy.opened).toHaveLength(1);
    expect(openFiles()).toEqual([]);
  });

  it("is refused in memory, with the way out", () => {
    expect(codeOf(() => new SqliteStorage(":memory:"))).toBe("storage-failed");
    expect(() => new SqliteStorage(":memory:")).toThrow(/Use a local disk .* or MemoryStorage/);
  });

  it("is refused by name on a network file system", () => {
    for (const [type, name] of [
      [0x6969, "NFS"],
      [0xff534d42, "CIFS"],
      [0xff534d42 | 0, "CIFS"],
    ] as const)
      expect(() => refuseNetwork(temp.path, type)).toThrow(`network file system (${name})`);
    for (const type of [0xef53, 0x01021994, 0x9123683e]) refuseNetwork(temp.path, type);
  });

  it("stays where it was when the process goes elsewhere", async () => {
    const before = process.cwd();
    process.chdir(temp.folder);
    const storage = new SqliteStorage("relative.db");
    process.chdir(before);
    await storage.secret();
    expect(existsSync(join(temp.folder, ".durable", "relative.db.secret"))).toBe(true);
    await storage.close();
  });

  it("tells old SQLites with the WAL-reset bug from those that have the fix", () => {
    for (const version of ["3.44.5", "3.46.1", "3.50.6", "3.51.2", "3.7.17"])
      expect([version, hasWalResetBug(version)]).toEqual([version, true]);
    for (const version of ["3.44.6", "3.50.7", "3.51.3", "3.53.4", "4.0.0"])
      expect([version, hasWalResetBug(version)]).toEqual([version, false]);
  });
});

describe("a SQLite with the WAL-reset bug", () => {
  it("is named when another connection writes, once, and not before", () => {
    const heard: unknown[] = [];
    const warnings = vi.spyOn(process, "emitWarning").mockImplementation((text) => void heard.push(text));
    const [mine, other] = [new DatabaseSync(temp.path), new DatabaseSync(temp.path)];
    try {
      mine.exec("CREATE TABLE t (x)");
      const dataVersion = (): number => Number(mine.prepare("PRAGMA data_version").get()?.["data_version"]);
      const look = warnOfWriters("3.50.2", temp.path, dataVersion);
      const lookWithFix = warnOfWriters("3.51.3", temp.path, dataVersion);
      mine.exec("INSERT INTO t VALUES (1)");
      look();
      expect(heard).toEqual([]);
      other.exec("INSERT INTO t VALUES (2)");
      for (const one of [look, look, lookWithFix]) one();
      expect(heard).toEqual([expect.stringContaining("SQLite 3.50.2, which can damage such a file")]);
    } finally {
      warnings.mockRestore();
      mine.close();
      other.close();
    }
  });
});

describe("what cannot be a journal file is refused by name", () => {
  it("a folder, and a path through a file", () => {
    mkdirSync(temp.path);
    expect(codeOf(() => new SqliteStorage(temp.path))).toBe("storage-failed");
    writeFileSync(join(temp.folder, "file"), "x");
    expect(codeOf(() => new SqliteStorage(join(temp.folder, "file", "journal.db")))).toBe("storage-failed");
  });

  it("a file that is no database, which stays as it was", () => {
    for (const text of ["x".repeat(5_000), "SQLite format 3\0".padEnd(5_000, "\u0007")]) {
      writeFileSync(temp.path, text);
      expect(codeOf(() => new SqliteStorage(temp.path))).toBe("corrupt");
      expect(readFileSync(temp.path, "utf8")).toBe(text);
      expect(openFiles()).toEqual([]);
    }
  });

  it("a database of another program, which stays as it was", () => {
    const other = new DatabaseSync(temp.path);
    other.exec("CREATE TABLE runs (id); INSERT INTO runs VALUES (1)");
    other.close();
    const before = readFileSync(temp.path);
    expect(() => new SqliteStorage(temp.path)).toThrow(/belongs to another program/);
    expect(readFileSync(temp.path).equals(before)).toBe(true);
    expect(readdirSync(temp.folder)).toEqual(["journal.db"]);
  });

  it("a file whose tables are not what was made, with what is wrong with them (H12)", async () => {
    await new SqliteStorage(temp.path).close();
    for (const [from, to] of [
      ["owner TEXT", "ownes TEXT"],
      ["ownes TEXT", "owner TEXU"],
    ]) {
      const other = new DatabaseSync(temp.path, { defensive: false });
      other.exec("PRAGMA writable_schema = ON");
      other.exec(`UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}')`);
      other.close();
      expect(codeOf(() => new SqliteStorage(temp.path))).toBe("corrupt");
      expect(openFiles(), "nor is it left open").toEqual([]);
    }
  });

  it("a file that lost its end gives what it has, or says corrupt", async () => {
    const storage = new SqliteStorage(temp.path);
    const runs = Array.from({ length: 40 }, (_, n) => `run${n}`);
    for (const run of runs) await storage.append(request(run, 0, `${run} `.repeat(400)));
    await storage.close();
    const size = readFileSync(temp.path).length;
    const random = seeded(13);
    const codes = new Set<string>();
    for (let cut = size; cut > 4_096; cut -= Math.ceil(random() * 40_000)) {
      truncateSync(temp.path, cut);
      for (const code of await readAll(runs)) codes.add(code);
    }
    expect([...codes].toSorted()).toEqual(["corrupt", "whole"]);
  });
});

async function readAll(runs: readonly string[]): Promise<string[]> {
  let storage: SqliteStorage;
  try {
    storage = new SqliteStorage(temp.path);
  } catch (error) {
    return [(error as DurableError).code];
  }
  const found = await Promise.all(
    runs.map(async (run) => {
      try {
        const { batches, length } = await storage.read(run);
        return batches[0] === `${run} `.repeat(400) && length === 1 ? "whole" : `changed ${batches[0]}`;
      } catch (error) {
        return (error as DurableError).code;
      }
    }),
  );
  await storage.close();
  return found;
}

describe("every failure has a name", () => {
  it.each([
    [3, "storage-readonly"],
    [5, "storage-busy"],
    [261, "storage-busy"],
    [6, "storage-busy"],
    [8, "storage-readonly"],
    [1032, "storage-readonly"],
    [10, "storage-failed"],
    [522, "corrupt"],
    [11, "corrupt"],
    [13, "storage-full"],
    [14, "storage-failed"],
    [15, "storage-busy"],
    [26, "corrupt"],
    [1, "storage-failed"],
    [21, "storage-failed"],
  ])("SQLite's %i is %s", (errcode, code) => {
    const error = named(sqliteError(errcode, "said so"), "/x/journal.db");
    expect(error).toMatchObject({ code, name: "DurableError" });
    expect(error.message).toMatch(/"\/x\/journal\.db" .*said so/);
    expect(error.cause).toMatchObject({ errcode });
  });

  it.each([
    ["EACCES", "storage-readonly"],
    ["EROFS", "storage-readonly"],
    ["ENOSPC", "storage-full"],
    ["EIO", "storage-failed"],
  ])("Node's %s is %s", (code, name) => {
    expect(named(Object.assign(new Error("no"), { code }), "x").code).toBe(name);
  });

  it("our own errors pass, and what is no error is named as well", () => {
    const own = new DurableError("conflict", "x");
    expect(named(own, "x")).toBe(own);
    expect(named("text", "x").code).toBe("storage-failed");
    expect(named(null, "x").code).toBe("storage-failed");
  });

  it("a folder that may not be written to says so", async () => {
    await new SqliteStorage(temp.path).close();
    execFileSync("chmod", ["-R", "a-w,a+rX", temp.folder]);
    const child = new Child("sqlite-child-readonly.ts", [temp.path]);
    expect(await child.done()).toEqual([
      "open existing: storage-readonly",
      "open new: storage-readonly",
      "default: storage-readonly",
    ]);
  });

  it("a file that becomes read-only refuses writes by name, and is read on", async () => {
    spy = spyOnDatabases();
    const storage = new SqliteStorage(temp.path);
    await storage.append(request("one", 0));
    spy.last.exec("PRAGMA query_only = ON");
    for (const write of [
      () => storage.append(request("one", 1)),
      () => storage.lease("one", "a", 1_000),
      () => storage.release("one", "a"),
      () => storage.delete("one"),
    ])
      await expect(write()).rejects.toMatchObject({ code: "storage-readonly" });
    expect((await storage.read("one")).length).toBe(1);
    expect((await storage.list()).runs).toHaveLength(1);
    spy.last.exec("PRAGMA query_only = OFF");
    await storage.append(request("one", 1));
    await storage.close();
  });
});
