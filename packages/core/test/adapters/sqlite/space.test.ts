import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createApp, durable } from "../../../src/index.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { migrate } from "../../../src/adapters/sqlite/schema.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";
import { contentOf } from "../../copy/support/houses.ts";
import { writerRuns } from "./support/kills.ts";
import { headOf, request } from "./support/samples.ts";

let temp: TempFolder;
const opened: SqliteStorage[] = [];

function open(path: string = temp.path): SqliteStorage {
  const storage = new SqliteStorage(path);
  opened.push(storage);
  return storage;
}

beforeEach(() => {
  temp = tempFolder();
});
afterEach(async () => {
  await killChildren();
  for (const storage of opened.splice(0)) await storage.close();
  temp.remove();
});

const body = "x".repeat(20_000);
const ended = { status: "completed", wakeAt: null } as const;
const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);
const bytes = (): number => sizeOf(temp.path) + sizeOf(`${temp.path}-wal`);
const mode = (): unknown => {
  const database = new DatabaseSync(temp.path, { readOnly: true });
  try {
    return database.prepare("PRAGMA auto_vacuum").get()?.["auto_vacuum"];
  } finally {
    database.close();
  }
};

async function fill(storage: SqliteStorage, count: number, from = 0): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, n) => {
      const locator = `run${from + n}`;
      const blobs = [{ name: `blob ${locator}`, body: `${locator} ${body}` }];
      return storage.append({ ...request(locator, 0, body), head: headOf(locator, ended), blobs });
    }),
  );
}

async function empty(storage: SqliteStorage, keep = 0): Promise<void> {
  const { runs } = await storage.list({ limit: 1_000, endedBefore: 1_000 });
  await storage.deleteUnchanged(runs.slice(keep));
}

/** A file as builds before this one made it: its pages cannot be moved. */
function oldFile(): void {
  const database = new DatabaseSync(temp.path);
  database.exec("PRAGMA journal_mode = WAL");
  migrate(database, temp.path);
  database.close();
}

describe("space of deleted runs", () => {
  it("is given back by a purge, and the write-ahead log is truncated", async () => {
    const storage = open();
    // Text that no other run shares, so that each has blobs of its own.
    const noise = (id: string): string =>
      Array.from({ length: 2_000 }, (_, n) => `${id}${(n * 7_919) % 1_009}`).join(" ");
    const flow = durable("large", (ctx) => ctx.step("work", () => noise(ctx.runId)));
    const app = createApp({ storage, workflows: [flow] });
    await Promise.all(
      Array.from({ length: 150 }, (_, n) => flow.with({ storage }).run(undefined, { id: `r${n}` })),
    );
    await storage.compact();
    const full = bytes();
    expect(await app.purge({ keep: 5 })).toMatchObject({ runs: 145 });
    expect(full).toBeGreaterThan(2_000_000);
    expect(bytes()).toBeLessThan(full / 8);
    expect(sizeOf(`${temp.path}-wal`)).toBe(0);
    expect((await storage.list()).runs).toHaveLength(5);
  });

  it("is used again: a file that is purged and filled again does not grow", async () => {
    const storage = open();
    const sizes: number[] = [];
    for (let cycle = 0; cycle < 6; cycle++) {
      await fill(storage, 60, cycle * 60);
      await storage.compact();
      sizes.push(bytes());
      await empty(storage);
    }
    expect(Math.max(...sizes)).toBeLessThan(sizes[0]! * 1.15);
  });

  it("is given back while other processes read and write", async () => {
    const storage = open();
    await fill(storage, 200);
    await storage.compact();
    const full = bytes();
    const writers = ["a", "b"].map((name) => new Child("sqlite-child-writer.ts", [temp.path, name]));
    await Promise.all(writers.map((writer) => writer.line(String(writerRuns[0]))));
    await empty(storage, 2);
    const { before, after, free } = await storage.compact();
    const seen = writers.map(({ lines }) => lines.length);
    await Promise.all(writers.map((writer, i) => writer.line("", seen[i])));
    await Promise.all(writers.map((writer) => writer.kill()));
    expect(before).toBeGreaterThanOrEqual(full);
    expect(free).toBeLessThan(full / 8);
    expect(after).toBeLessThan(before);
    await storage.compact();
    // What the writers appended is there, which may be a lot, and of the deleted runs nothing.
    const journals = await Promise.all(writerRuns.map((locator) => storage.read(locator)));
    const appended = Buffer.byteLength(journals.flatMap(({ batches }) => batches).join(""));
    expect(bytes() - appended).toBeLessThan(full / 2);
    const copy = await storage.backup(join(temp.folder, "copy.db"));
    expect(copy.runs).toBe(2 + writerRuns.length);
    for (const { lines } of writers)
      for (const line of lines.slice(1).slice(-50)) {
        const [locator = "", position = "0"] = line.split(" ");
        expect((await storage.read(locator, Number.MAX_SAFE_INTEGER)).length).toBeGreaterThan(
          Number(position),
        );
      }
  });

  it("stops on abort, and the rest is given back later", async () => {
    const storage = open();
    await fill(storage, 150);
    await empty(storage);
    const stopped = await storage.compact({ signal: AbortSignal.abort() });
    expect(stopped.free).toBeGreaterThan(1_000_000);
    expect((await storage.compact()).free).toBe(0);
  });
});

describe("a file of an earlier version", () => {
  it("keeps its size, and uses the space again", async () => {
    oldFile();
    const storage = open();
    expect(mode()).toBe(0);
    await fill(storage, 100);
    await storage.compact();
    const full = bytes();
    await empty(storage);
    const { after, free } = await storage.compact();
    expect(after).toBe(full);
    expect(free).toBeGreaterThan(full * 0.8);
    await fill(storage, 100, 1_000);
    await storage.compact();
    expect(bytes()).toBeLessThan(full * 1.1);
  });

  it("shrinks by a full compaction, and by every purge from then on", async () => {
    oldFile();
    const [storage, other] = [open(), open()];
    await fill(storage, 100);
    await empty(storage, 3);
    const content = await contentOf(storage);
    const { before, after, free } = await storage.compact({ full: true });
    expect(after).toBeLessThan(before / 8);
    expect(free).toBe(0);
    expect(mode()).toBe(2);
    expect(await contentOf(other)).toEqual(content);
    await other.append(request("more", 0));
    await fill(storage, 50, 1_000);
    await empty(storage);
    expect((await other.compact()).after).toBeLessThan(before / 8);
    expect((await storage.list()).runs.map(({ runId }) => runId)).toEqual(["more"]);
  });
});

it("a new file can be compacted, and options are checked", async () => {
  const storage = open();
  expect(mode()).toBe(2);
  await expect(storage.compact({ fully: true } as object)).rejects.toMatchObject({ code: "invalid-options" });
  await storage.close();
  await expect(storage.compact()).rejects.toMatchObject({ code: "storage-closed" });
});
