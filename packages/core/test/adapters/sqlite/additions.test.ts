/** Builds without the additions to schema 3 work on the same file, before and after it gets them (H56). */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import type { AppendRequest, BlockedNote, NamedBlob, RunHead } from "../../../src/ports/storage.ts";
import { PlainBuild } from "./support/plain-build.ts";
import { headOf, request } from "./support/samples.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let plain: PlainBuild;
let storage: SqliteStorage;

beforeEach(() => {
  temp = tempFolder();
  plain = new PlainBuild(temp.path);
  plain.append(naming("early", 0, { name: "a", body: "body of a" }));
  // The file gets its additions while the other build has it open.
  storage = new SqliteStorage({ path: temp.path, now: () => 1_000 });
});
afterEach(async () => {
  plain.close();
  await storage.close();
  temp.remove();
});

function naming(run: string, position: number, ...blobs: readonly NamedBlob[]): AppendRequest {
  return { ...request(run, position), blobs };
}

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

describe("a build without the additions", () => {
  it("continues its runs beside this one, and opens the file again", async () => {
    plain.append(naming("early", 1, { name: "a" }));
    await storage.append(naming("early", 2, { name: "b", body: "body of b" }));
    await storage.append(request("late", 0));
    plain.append(request("late", 1));
    plain.close();
    plain = new PlainBuild(temp.path);
    plain.append(request("early", 3));
    expect(plain.read("early")).toEqual([0, 1, 2, 3].map((position) => `early ${position}`));
    expect(await storage.read("early")).toMatchObject({
      batches: plain.read("early"),
      length: 4,
      deleted: false,
      blobs: { a: "body of a", b: "body of b" },
    });
    expect(await storage.read("late")).toMatchObject({ batches: plain.read("late"), length: 2 });
    expect((await storage.list()).runs.map(({ locator }) => locator)).toEqual(["late", "early"]);
    expect((await storage.list({ dueAt: 1, workflow: "sample" })).runs).toHaveLength(2);
  });

  it.each<[what: string, write: () => void]>([
    ["an append", () => plain.append(request("early", 1))],
    ["a lease", () => plain.lease("early", "other", 500)],
    [
      "a lease that it gave back",
      () => {
        plain.lease("early", "other", 500);
        plain.release("early", "other");
      },
    ],
    ["a deletion", () => plain.delete("early")],
  ])("makes a note void by %s", async (_what, write) => {
    await storage.note("early", note);
    expect((await storage.read("early")).blocked).toEqual(note);
    write();
    expect((await storage.read("early")).blocked).toBeUndefined();
    expect((await storage.list({ status: "blocked" })).runs).toEqual([]);
    expect((await storage.lease("early", "mine", 10))?.blocked).toBeUndefined();
  });

  it("leaves a note where it only releases, or writes to another run", async () => {
    plain.lease("early", "other", 500);
    await storage.note("early", note);
    plain.release("early", "other");
    plain.append(request("more", 0));
    expect((await storage.read("early")).blocked).toEqual(note);
  });

  it("finds a journal without a gap where chapters were dropped, so that it can refuse its format", async () => {
    await chapters("long");
    expect(plain.read("long")).toHaveLength(6);
    await storage.dropChapters("long", 4);
    expect(plain.read("long")).toEqual(["long 4", "long 5"]);
    await storage.append({ ...request("long", 6), head: headOf("long", { chapter: 6 }) });
    await storage.dropChapters("long", 6);
    expect(plain.read("long")).toEqual(["long 6"]);
    expect(await storage.read("long")).toMatchObject({ batches: ["long 6"], length: 7, from: 6 });
  });

  it("frees chapters and their blobs with the run it deletes", async () => {
    await chapters("long");
    expect(["chapters", "named_again"].map((table) => plain.count(table))).toEqual([2, 2]);
    expect(plain.count("blobs")).toBe(7);
    plain.delete("long");
    expect(["chapters", "named_again", "blobs"].map((table) => plain.count(table))).toEqual([0, 0, 1]);
  });

  it("cannot make a fork of batches that were dropped", async () => {
    await chapters("long");
    const fork = (run: string, parent: string): AppendRequest => ({
      ...request(run, 0),
      head: headOf(run, { parent, ancestors: [parent] }),
    });
    plain.append(fork("before", "long"));
    await expect(storage.dropChapters("long", 2)).rejects.toMatchObject({ code: "conflict" });
    await storage.delete("before");
    await storage.dropChapters("long", 2);
    expect(() => plain.append(fork("after", "long"))).toThrow(/dropped batches/);
    expect((await storage.list({ parent: "long" })).runs).toEqual([]);
    plain.append(fork("other", "early"));
  });

  it("adds nothing to a run that has dropped as many batches as it got since", async () => {
    await storage.append(request("long", 0));
    await storage.append(request("long", 1));
    for (const position of [2, 3])
      await storage.append({ ...request("long", position), head: headOf("long", { chapter: 2 }) });
    await storage.dropChapters("long", 2);
    const kept = await storage.read("long");
    // Both know the run as it was when it had two batches.
    expect(() => plain.append(request("long", 2))).toThrow(/dropped chapters.*Upgrade/);
    await expect(storage.append(request("long", 2))).rejects.toMatchObject({ code: "conflict" });
    expect(await storage.read("long")).toEqual(kept);
    await storage.append({ ...request("long", 4), head: headOf("long", { chapter: 2 }) });
    expect(() => plain.append(request("long", 3))).toThrow(/dropped chapters.*Upgrade/);
    expect(await storage.read("long")).toMatchObject({ length: 5, from: 2 });
  });
});

describe("what dropChapters leaves in the file", () => {
  it("is what the chapters that are left need", async () => {
    await chapters("long");
    await storage.dropChapters("long", 2);
    expect(["batches", "chapters", "named_again"].map((table) => plain.count(table))).toEqual([5, 2, 1]);
    expect(Object.keys((await storage.read("long")).blobs ?? {})).toEqual(
      expect.arrayContaining(["a", "long-2", "long-3", "long-4", "long-5"]),
    );
    await storage.dropChapters("long", 4);
    expect(["batches", "chapters", "named_again"].map((table) => plain.count(table))).toEqual([3, 1, 0]);
    expect(plain.count("blobs"), "a, and two of the last chapter").toBe(3);
    expect(await storage.readChapter("long")).toMatchObject({
      batches: ["long 4", "long 5"],
      from: 4,
      blobs: { a: "body of a", "long-4": "own", "long-5": "own" },
    });
  });

  it.each([
    ["a batch", "UPDATE batches SET body = 'changed' WHERE locator = 'long' AND position = 5"],
    ["a batch that is missing", "DELETE FROM batches WHERE locator = 'long' AND position = 5"],
    ["a name", "DELETE FROM named_again WHERE locator = 'long' AND position = 4"],
    ["a chapter", "UPDATE runs SET chapter = 2 WHERE locator = 'long'"],
  ])("does not cover up damage: %s (chapters.3)", async (_what, text) => {
    await chapters("long");
    plain.database.exec(text);
    await expect(storage.dropChapters("long", 2)).rejects.toMatchObject({ code: "corrupt" });
    expect(plain.count("batches")).toBeGreaterThanOrEqual(6);
  });

  it.each([
    ["chapter = 0"],
    ["chapter = NULL"],
    ["dropped = 1"],
    ["dropped = NULL"],
    ["reads_from = '[1]'"],
    ["reads_from = NULL"],
    ["chapter_sum = NULL"],
    ["blocked = replace(blocked, 'changed', 'chanced')"],
    ["blocked_sum = NULL"],
  ])("is corrupt with %s (sums.1)", async (change) => {
    await chapters("long", { ancestors: ["early"], readsFrom: [0] });
    await storage.dropChapters("long", 4);
    await storage.note("long", { ...note, length: 6 });
    await expect(storage.read("long")).resolves.toMatchObject({ length: 6 });
    plain.database.exec(`UPDATE runs SET ${change} WHERE locator = 'long'`);
    for (const work of [storage.read("long"), storage.readChapter("long"), storage.list()])
      await expect(work).rejects.toMatchObject({ code: "corrupt" });
  });

  it("is corrupt when a run without chapters has one", async () => {
    plain.database.exec("UPDATE runs SET chapter = 1 WHERE locator = 'early'");
    await expect(storage.read("early")).rejects.toMatchObject({ code: "corrupt" });
  });
});
