/** Tags and versions in the file: the indexes that searches use, what an append costs, and files of other builds. */

import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { durable } from "../../../src/index.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { listText } from "../../../src/adapters/sqlite/list-text.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";
import { headOf, request } from "./support/samples.ts";
import { spyOnDatabases, type DatabaseSpy } from "./support/spy.ts";

let temp: TempFolder;
let spy: DatabaseSpy;

beforeEach(() => {
  temp = tempFolder();
  spy = spyOnDatabases();
});
afterEach(() => {
  spy.restore();
  temp.remove();
});

const pathOf = (): string => join(temp.folder, "journal.db");

describe("searches use an index", () => {
  it.each([
    [{ tags: { a: "1" } }, "SEARCH first USING PRIMARY KEY (name=? AND value=?)", true],
    [
      { tags: { a: "1" }, cursor: "1:2" },
      "SEARCH first USING PRIMARY KEY (name=? AND value=? AND run<?)",
      true,
    ],
    [{ tags: { a: "1", b: "2" }, status: "failed" }, "tags_by_value (value=? AND run=? AND name=?)", true],
    [{ tags: { a: "1" }, workflow: "w" }, "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)", true],
    [{ version: "1", cursor: "1:2" }, "runs_by_version (version=? AND id<?)", true],
    [{ createdAfter: 1 }, "runs_by_created (created_at>?)", false],
    [
      { createdAfter: 1, createdBefore: 2, workflow: "w" },
      "runs_by_created (created_at>? AND created_at<?)",
      false,
    ],
    [{ q: "x" }, "runs_by_run_id (run_id>? AND run_id<?)", true],
    [{ q: "x", status: "failed" }, "runs_by_label (label>? AND label<?)", true],
    [{ q: "x", cursor: "1:2" }, "tags_by_value (value>? AND value<?)", true],
    [{ q: "x" }, "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)", true],
    [{ dueAt: 1, workflow: "w", version: "1" }, "runs_due_by_version (workflow=? AND version=?)", true],
    [
      { dueAt: 1, workflow: "w", fair: "", tags: { a: "1" } },
      "runs_due_in_order (workflow=? AND fair=?)",
      true,
    ],
    [
      { dueAt: 1, workflow: "w", asleep: true },
      "runs_asleep (workflow=? AND wake_at>? AND wake_at<?)",
      false,
    ],
  ] as const)("%o", async (query, index, isSorted) => {
    const storage = new SqliteStorage(pathOf());
    const { text, values } = listText(query, { now: 1, dead: [] });
    const plan = spy.last.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values, 10);
    const details = plan.map(({ detail }) => String(detail)).join("; ");
    expect(details).toContain(index);
    expect(details).not.toMatch(/SCAN (runs|tags|first|t)\b/);
    // What is found by time is sorted, because its index has another order.
    if (isSorted) expect(details).not.toContain("TEMP B-TREE FOR ORDER BY");
    await storage.close();
  });
});

it("an append that changes no tag prepares and writes nothing for them", async () => {
  const storage = new SqliteStorage(pathOf());
  const tags = { customer: "42" };
  const head = headOf("a", { tags, version: "1" });
  await storage.append({ ...request("a", 0), head });
  const changes = (): number => Number(spy.last.prepare("SELECT total_changes() AS n").get()?.["n"]);
  const written = async (append: Promise<void>): Promise<number> => {
    const before = changes();
    await append;
    return changes() - before;
  };
  const lease = { owner: "o", ttlMs: 1_000 };
  const plain = await written(storage.append({ ...request("a", 1), head, lease }));
  expect(await written(storage.append({ ...request("a", 2), head, lease }))).toBe(plain);
  expect(plain, "the head and the batch").toBe(2);
  const moved = { ...head, tags: { customer: "43" } };
  expect(
    await written(storage.append({ ...request("a", 3), head: moved, lease, newTags: true })),
    "and the tags: the row, one that goes and one that comes",
  ).toBe(plain + 3);
  await storage.close();
});

it("the tags of a run go with it", async () => {
  const storage = new SqliteStorage(pathOf());
  const database = new DatabaseSync(pathOf());
  const left = (): unknown => database.prepare("SELECT count(*) AS n FROM tags").get()?.["n"];
  await storage.append({ ...request("a", 0), head: headOf("a", { tags: { x: "1", y: "2" }, version: "1" }) });
  const fork = headOf("f", { ancestors: ["a"], tags: { x: "1" } });
  await storage.append({ ...request("f", 0), head: fork });
  expect(left()).toBe(3);
  await storage.delete("a");
  expect(left(), "a hidden run is not found, though its fork reads it").toBe(1);
  expect((await storage.read("a")).batches).toEqual(["a 0"]);
  await storage.delete("f");
  expect(left()).toBe(0);
  database.close();
  await storage.close();
});

it("changed tags and versions are damage", async () => {
  const storage = new SqliteStorage(pathOf());
  const flow = durable("f", async () => 1, { storage, version: "1" });
  for (const [column, text] of [
    ["tags", '{"customer":"43"}'],
    ["version", "2"],
  ]) {
    const run = await flow.start(undefined, { tags: { customer: "42" } });
    await run.result();
    spy.last.prepare(`UPDATE runs SET ${column} = ? WHERE run_id = ?`).run(text ?? "", run.id);
    expect((await storage.list({ q: run.id })).runs).toMatchObject([
      { runId: run.id, status: "blocked", blocked: { code: "corrupt" } },
    ]);
    await storage
      .delete(
        (spy.last.prepare("SELECT locator FROM runs WHERE run_id = ?").get(run.id) ?? {})[
          "locator"
        ] as string,
      )
      .catch(() => {});
    spy.last.prepare("DELETE FROM runs WHERE run_id = ?").run(run.id);
  }
  await storage.close();
});
