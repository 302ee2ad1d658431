import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { createApp, durable, type Storage } from "../../../src/index.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { tokenOf } from "../../support/behaviour-lab.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";
import { contentOf } from "../../copy/support/houses.ts";
import { finish, moveIn, testWorld } from "../../copy/support/residents.ts";
import { writerRuns } from "./support/kills.ts";
import { headOf, request } from "./support/samples.ts";

let temp: TempFolder;
let target: string;
const opened: SqliteStorage[] = [];

function open(path: string): SqliteStorage {
  const storage = new SqliteStorage(path);
  opened.push(storage);
  return storage;
}

beforeEach(() => {
  temp = tempFolder();
  target = join(temp.folder, "backups", "journal.db");
});
afterEach(async () => {
  await killChildren();
  for (const storage of opened.splice(0)) await storage.close();
  temp.remove();
});

/** A file of thousands of pages, so that it is copied in several parts. */
async function fill(storage: Storage, count = inject("full") ? 120 : 60): Promise<void> {
  const body = "x".repeat(100_000);
  await Promise.all(
    Array.from({ length: count }, (_, n) =>
      storage.append({ ...request(`large${n}`, 0), blobs: [{ name: `blob${n}`, body: `${n} ${body}` }] }),
    ),
  );
}

describe("a backup", () => {
  it("has everything that was acknowledged before, and nothing later", async () => {
    const storage = open(temp.path);
    await fill(storage, 120);
    const before = await contentOf(storage);
    let writes = 0;
    const progress: number[] = [];
    const other = open(temp.path);
    const copied = await storage.backup(target, {
      onProgress: ({ done, total }) => {
        progress.push(done / total);
        // SQLite would begin again at each write of another connection, and never end.
        void Promise.all([storage, other].map((each) => each.append(request(`later${writes++}`, 0))));
      },
    });
    expect(progress.length).toBeGreaterThan(2);
    expect(progress.length).toBeLessThan(20);
    expect(progress.toSorted((a, b) => a - b)).toEqual(progress);
    expect(progress.at(-1)).toBe(1);
    expect(writes).toBeGreaterThan(4);
    expect(copied).toEqual({ path: target, bytes: statSync(target).size, runs: 120 });
    expect(await contentOf(open(target))).toEqual(before);
    expect((await storage.list({ limit: 500 })).runs.length).toBe(120 + writes);
  });

  it("is readable only by its owner, and leaves nothing else behind", async () => {
    const storage = open(temp.path);
    await storage.append(request("one", 0));
    await storage.backup(target);
    if (process.platform !== "win32") expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(target))).toEqual(["journal.db"]);
  });

  it("never replaces a file, not even one that appears meanwhile", async () => {
    const storage = open(temp.path);
    await storage.append(request("one", 0));
    mkdirSync(dirname(target));
    const refuses = async (path: string): Promise<void> => {
      const left = existsSync(path) ? readFileSync(path) : null;
      await expect(storage.backup(path)).rejects.toMatchObject({ code: "invalid-options" });
      if (left !== null) expect(readFileSync(path).equals(left)).toBe(true);
    };
    writeFileSync(target, "mine");
    await refuses(target);
    await refuses(temp.path);
    if (process.platform !== "win32") {
      symlinkSync("nowhere", join(temp.folder, "link"));
      await refuses(join(temp.folder, "link"));
    }
    const late = join(dirname(target), "late.db");
    await expect(
      storage.backup(late, { onProgress: () => writeFileSync(late, "theirs") }),
    ).rejects.toMatchObject({ code: "invalid-options" });
    expect(readFileSync(late, "utf8")).toBe("theirs");
    expect(readdirSync(dirname(target)).toSorted()).toEqual(["journal.db", "late.db"]);
  });

  it("of a file that was replaced, is closed or cannot be copied to fails with a code", async () => {
    const storage = open(temp.path);
    await storage.append(request("one", 0));
    writeFileSync(join(temp.folder, "file"), "");
    await expect(storage.backup(join(temp.folder, "file", "copy.db"))).rejects.toMatchObject({
      name: "DurableError",
    });
    renameSync(temp.path, `${temp.path}.old`);
    await expect(storage.backup(target)).rejects.toMatchObject({ code: "journal-regressed" });
    await storage.close();
    await expect(storage.backup(target)).rejects.toMatchObject({ code: "storage-closed" });
    expect(readdirSync(dirname(target))).toEqual([]);
  });

  it("refuses options that it does not know", async () => {
    const storage = open(temp.path);
    await expect(storage.backup(target, { secrets: true } as object)).rejects.toMatchObject({
      code: "invalid-options",
    });
  });
});

describe("a backup of a damaged file is refused, and leaves no file:", () => {
  it.each([
    ["a batch", "UPDATE batches SET body = 'other' WHERE locator = 'one'"],
    ["a missing batch", "DELETE FROM batches WHERE locator = 'one'"],
    ["a blob", "UPDATE blobs SET body = 'other'"],
    ["a head", "UPDATE runs SET workflow = 'other' WHERE locator = 'one'"],
    ["a deleted run that is kept for a fork", "UPDATE batches SET body = 'other' WHERE locator = 'gone'"],
  ])("%s", async (_, change) => {
    const storage = open(temp.path);
    await storage.append({ ...request("one", 0), blobs: [{ name: "blob", body: "body" }] });
    await storage.append(request("gone", 0));
    await storage.append({ ...request("fork", 0), head: headOf("fork", { ancestors: ["gone"] }) });
    await storage.delete("gone");
    const other = new DatabaseSync(temp.path);
    other.exec(change);
    other.close();
    await expect(storage.backup(target)).rejects.toMatchObject({
      code: "corrupt",
      message: expect.stringContaining(temp.path) as string,
    });
    expect(readdirSync(dirname(target))).toEqual([]);
  });

  it("a page that is not what it was", async () => {
    const storage = open(temp.path);
    await fill(storage);
    await storage.close();
    const size = statSync(temp.path).size;
    const bytes = readFileSync(temp.path);
    for (let at = 4_096 * 60; at < size; at += 4_096 * 100) bytes.fill(0xff, at, at + 64);
    writeFileSync(temp.path, bytes);
    await expect(open(temp.path).backup(target)).rejects.toMatchObject({ code: "corrupt" });
    expect(readdirSync(dirname(target))).toEqual([]);
  });
});

describe("while other processes write", () => {
  it("each backup is whole, with every batch that was acknowledged before", async () => {
    const storage = open(temp.path);
    await fill(storage);
    const child = new Child("sqlite-child-writer.ts", [temp.path, "writer"]);
    await child.line("up");
    for (let n = 0; n < 2; n++) {
      const seen = child.lines.length;
      const acknowledged = new Map<string, number>();
      while (child.lines.length < seen + 50) await new Promise((resolve) => setTimeout(resolve, 5));
      for (const line of child.lines.slice(1)) {
        const [run = "", position = ""] = line.split(" ");
        acknowledged.set(run, Math.max(acknowledged.get(run) ?? 0, Number(position)));
      }
      const path = join(dirname(target), `${n}.db`);
      await storage.backup(path);
      const copy = open(path);
      expect(acknowledged.size).toBe(writerRuns.length);
      for (const [run, position] of acknowledged)
        expect((await copy.read(run)).length, run).toBeGreaterThan(position);
      const database = new DatabaseSync(path);
      expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      database.close();
    }
  });

  it("a process that is killed leaves no part of a backup under its name", { timeout: 300_000 }, async () => {
    const storage = open(temp.path);
    await fill(storage);
    const expected = await contentOf(storage);
    const folder = join(temp.folder, "killed");
    const child = new Child("sqlite-child-backup.ts", [temp.path, folder, "1"]);
    await child.line("half");
    await child.kill();
    const [whole, ...parts] = readdirSync(folder).toSorted();
    expect(whole).toBe("0.db");
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) expect(part).toMatch(/^1\.db\.\d+\.\w+\.partial(-journal)?$/);
    expect(await contentOf(open(join(folder, "0.db")))).toEqual(expected);
    await storage.backup(target);
    expect(await contentOf(open(target))).toEqual(expected);
  });
});

describe("a restore", () => {
  it("is a copy back: runs of every kind finish with their old tokens", async () => {
    const world = testWorld();
    const storage = open(temp.path);
    const residents = await moveIn(storage, world);
    await storage.backup(target);
    await storage.close();
    for (const suffix of ["", "-wal", "-shm"])
      if (existsSync(temp.path + suffix)) truncateSync(temp.path + suffix, 0);
    const restored = join(temp.folder, "restored", "journal.db");
    mkdirSync(dirname(restored));
    copyFileSync(target, restored);
    const { found, expected } = await finish(residents, open(restored), world);
    expect(found).toEqual(expected);
  });

  it("needs the secret, which a backup copies if it is asked to", async () => {
    const flow = durable("asks", (ctx) => ctx.suspend<string>("ok"));
    const storage = open(temp.path);
    const token = tokenOf(await flow.with({ storage, patience: 0 }).run());
    const without = join(temp.folder, "without", "journal.db");
    const { path } = await storage.backup(target, { secret: true });
    await storage.backup(without);
    const resume = async (file: string): Promise<string> =>
      (await createApp({ storage: open(file), workflows: [flow] }).resume(token, "yes")).status;
    expect(await resume(without)).toBe("unknown");
    expect(await resume(path)).toBe("accepted");
    const file = join(dirname(target), ".durable", "journal.db.secret");
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
    // A backup in a folder that has another secret would be restored with the wrong one.
    appendFileSync(join(dirname(without), ".durable", "journal.db.secret"), "x");
    renameSync(without, `${without}.old`);
    await expect(storage.backup(without, { secret: true })).rejects.toMatchObject({ code: "no-secret" });
    expect(existsSync(without)).toBe(false);
  });
});
