/** Chapters in the tables: what is dropped, what is left, and what is damage. */

import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import type { AppendRequest, BlockedNote, NamedBlob, RunHead } from "../../../src/ports/storage.ts";
import { headOf, request } from "./support/samples.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let database: DatabaseSync;
let storage: SqliteStorage;

beforeEach(async () => {
  temp = tempFolder();
  storage = new SqliteStorage({ path: temp.path, now: () => 1_000 });
  await storage.append(naming("early", 0, { name: "a", body: "body of a" }));
  database = new DatabaseSync(temp.path);
});
afterEach(async () => {
  database.close();
  await storage.close();
  temp.remove();
});

function naming(run: string, position: number, ...blobs: readonly NamedBlob[]): AppendRequest {
  return { ...request(run, position), blobs };
}

const count = (table: string): number =>
  Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);

const note: BlockedNote = { code: "diverged", message: "changed", since: 1, length: 1 };

/** A run of six batches; chapters begin at 2 and at 4, and each names blob a. */
async function chapters(run: string, changes: Partial<RunHead> = {}): Promise<void> {
  for (let position = 0; position < 6; position++) {
    const head = headOf(run, { ...changes, ...(position > 1 && { chapter: position - (position % 2) }) });
    const blobs = [
      { name: "a", body: "body of a" },
      { name: `${run}-${position}`, body: "own" },
    ];
    await storage.append({ ...naming(run, position, ...blobs), head });
  }
}

describe("what dropChapters leaves in the file", () => {
  it("is what the chapters that are left need", async () => {
    await chapters("long");
    await storage.dropChapters("long", 2);
    expect(["batches", "chapters", "named"].map(count)).toEqual([5, 2, 7]);
    expect(Object.keys((await storage.read("long")).blobs ?? {})).toEqual(
      expect.arrayContaining(["a", "long-2", "long-3", "long-4", "long-5"]),
    );
    await storage.dropChapters("long", 4);
    expect(["batches", "chapters", "named"].map(count)).toEqual([3, 1, 4]);
    expect(count("blobs"), "a, and two of the last chapter").toBe(3);
    expect(await storage.readChapter("long")).toMatchObject({
      batches: ["long 4", "long 5"],
      from: 4,
      blobs: { a: "body of a", "long-4": "own", "long-5": "own" },
    });
  });

  it.each([
    ["a batch", "UPDATE batches SET body = 'changed' WHERE locator = 'long' AND position = 5"],
    ["a batch that is missing", "DELETE FROM batches WHERE locator = 'long' AND position = 5"],
    ["a name", "DELETE FROM named WHERE locator = 'long' AND position = 4"],
  ])("does not cover up damage: %s", async (_what, text) => {
    await chapters("long");
    database.exec(text);
    await storage.dropChapters("long", 2);
    await expect(storage.readChapter("long")).rejects.toMatchObject({ code: "corrupt" });
  });

  it("a head that is damaged drops nothing (sqlite-chapters.2)", async () => {
    await chapters("long");
    database.exec("UPDATE runs SET chapter = 2 WHERE locator = 'long'");
    await expect(storage.dropChapters("long", 2)).rejects.toMatchObject({ code: "corrupt" });
    expect(count("batches")).toBe(7);
  });

  it.each([
    ["chapter = 0"],
    ["chapter = NULL"],
    ["dropped = 1"],
    ["dropped = 0"],
    ["reads_from = '[1]'"],
    ["reads_from = NULL"],
    ["chapter_sum = 0"],
    ["blocked = replace(blocked, 'changed', 'chanced')"],
    ["blocked_sum = NULL"],
  ])("is corrupt with %s (sums.1)", async (change) => {
    await chapters("long", { ancestors: ["early"], readsFrom: [0] });
    await storage.dropChapters("long", 4);
    await storage.note("long", { ...note, length: 6 });
    await expect(storage.read("long")).resolves.toMatchObject({ length: 6 });
    database.exec(`UPDATE runs SET ${change} WHERE locator = 'long'`);
    for (const work of [storage.read("long"), storage.readChapter("long")])
      await expect(work).rejects.toMatchObject({ code: "corrupt" });
    const listed = (await storage.list()).runs.map(({ blocked }) => blocked?.code);
    expect(listed).toEqual(["corrupt", undefined]);
  });

  it("is corrupt when a run without chapters has one", async () => {
    database.exec("UPDATE runs SET chapter = 1 WHERE locator = 'early'");
    await expect(storage.read("early")).rejects.toMatchObject({ code: "corrupt" });
  });
});
