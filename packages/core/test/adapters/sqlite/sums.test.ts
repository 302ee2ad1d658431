import { copyFileSync, readFileSync, statSync, truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DurableError, durable } from "../../../src/index.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { headOf, request } from "./support/samples.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let storage: SqliteStorage;

beforeEach(() => {
  temp = tempFolder();
});
afterEach(async () => {
  await storage.close();
  temp.remove();
});

/** What happens to a file behind the back of the library. */
function tamper(text: string): void {
  const other = new DatabaseSync(temp.path);
  other.exec(`DROP TRIGGER IF EXISTS runs_unsummed; ${text}`);
  other.close();
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return DurableError.is(error) ? error.code : String(error);
  }
}

async function begin(): Promise<void> {
  storage = new SqliteStorage(temp.path);
  for (const position of [0, 1, 2]) await storage.append(request("one", position));
  await storage.append(request("two", 0));
  await storage.append({
    ...request("fork", 0),
    head: headOf("fork", { parent: "one", ancestors: ["one"] }),
  });
}

describe("a record that is not what was written is corrupt (H12)", () => {
  it.each([
    ["changed", "UPDATE batches SET body = 'one I' WHERE locator = 'one' AND position = 1"],
    ["cut", "UPDATE batches SET body = 'one ' WHERE locator = 'one' AND position = 2"],
    ["followed by zeros", "UPDATE batches SET body = body || char(0) WHERE locator = 'one' AND position = 2"],
    ["another run's", "UPDATE batches SET body = 'two 0' WHERE locator = 'one' AND position = 0"],
    ["missing in the middle", "DELETE FROM batches WHERE locator = 'one' AND position = 1"],
    ["missing at the end", "DELETE FROM batches WHERE locator = 'one' AND position = 2"],
    ["one too many", "UPDATE runs SET length = 2 WHERE locator = 'one'"],
    ["moved", "UPDATE batches SET position = 3 WHERE locator = 'one' AND position = 1"],
    [
      "moved with its sum",
      `UPDATE batches SET (body, sum) = (SELECT body, sum FROM batches WHERE locator = 'one' AND position = 0)
         WHERE locator = 'one' AND position = 1`,
    ],
    ["without a head", "DELETE FROM runs WHERE locator = 'one'"],
    ["hidden", "UPDATE runs SET deleted = 1 WHERE locator = 'one'"],
  ])("a batch that is %s", async (_what, text) => {
    await begin();
    tamper(text);
    expect(await codeOf(storage.read("one"))).toBe("corrupt");
    expect(await storage.read("two"), "other runs are read on").toMatchObject({ batches: ["two 0"] });
  });

  it.each([
    ["run_id = 'onf'"],
    ["workflow = 'other'"],
    ["created_at = 2"],
    ["label = ''"],
    ["parent = 'two'"],
    ["ancestors = '[\"two\"]'"],
    ["status = 'completed'"],
    ["wake_at = NULL"],
    ["wake_at = 1.5"],
    ["updated_at = 0"],
    ["steps = 1"],
    ["length = 4"],
  ])("a head with %s", async (change) => {
    await begin();
    tamper(`UPDATE runs SET ${change} WHERE locator = 'one'`);
    const { runs } = await storage.list();
    expect(runs.find(({ locator }) => locator === "one")).toMatchObject({
      status: "blocked",
      blocked: {
        code: "corrupt",
        message: expect.stringMatching(/the head of run .* differs from what was written\. Restore it/),
      },
    });
    expect(runs.filter(({ blocked }) => blocked === undefined).map(({ locator }) => locator)).toEqual(
      (await storage.list()).runs.map(({ locator }) => locator).filter((locator) => locator !== "one"),
    );
    expect((await storage.list({ endedBefore: Infinity })).runs).toEqual([]);
    expect(await codeOf(storage.read("one"))).toBe("corrupt");
    expect(await codeOf(storage.delete("one")), "nor is anything freed by what it says").toBe("corrupt");
  });

  it("and its run stops loudly, with nothing run again", async () => {
    storage = new SqliteStorage(temp.path);
    let calls = 0;
    const flow = durable(
      "damaged",
      async (ctx) => {
        await ctx.step("call", () => (calls += 1));
        return ctx.suspend("answer");
      },
      { storage },
    );
    await flow.run(undefined, { id: "run" });
    tamper(`UPDATE batches SET body = replace(body, '"call"', '"calk"')`);
    await expect(flow.run(undefined, { id: "run" })).rejects.toMatchObject({ code: "corrupt" });
    expect(calls).toBe(1);
  });

  it("while leases, quiet times and deletion change no record", async () => {
    await begin();
    await storage.lease("one", "a", 1_000);
    await storage.release("one", "a", 1_000);
    await storage.append({ ...request("one", 3), lease: { owner: "b", ttlMs: 1_000 } });
    expect(await storage.read("one")).toMatchObject({ length: 4, deleted: false });
    await storage.delete("one");
    await storage.delete("one");
    expect(await storage.read("one")).toMatchObject({ length: 4, deleted: true });
    await storage.delete("fork");
    expect(await storage.read("one")).toMatchObject({ length: 0, deleted: false });
    expect((await storage.list()).runs.map(({ locator }) => locator)).toEqual(["two"]);
  });

  it("while texts that SQLite keeps in another form are what was written", async () => {
    await begin();
    const head = headOf("odd", { label: "\ud800 half", workflow: "ü\u{1f600}", createdAt: 1.1, wakeAt: -0 });
    await storage.append({ locator: "odd", position: 0, batch: "half of \udc00 a pair", head });
    expect((await storage.read("odd")).length).toBe(1);
    expect((await storage.list()).runs).toHaveLength(4);
  });
});

describe("a file that lost its bytes (H12)", () => {
  it("is refused when it is empty and has a log, which is not touched", async () => {
    await begin();
    const image = `${temp.path}.image`;
    for (const suffix of ["", "-wal"]) copyFileSync(`${temp.path}${suffix}`, `${image}${suffix}`);
    truncateSync(image, 0);
    const log = readFileSync(`${image}-wal`);
    expect(() => new SqliteStorage(image)).toThrow(
      /is empty, but its write-ahead log ".+-wal" has \d+ bytes/,
    );
    expect(readFileSync(`${image}-wal`).equals(log)).toBe(true);
  });

  it("begins anew when it is empty and has none", async () => {
    await begin();
    const image = `${temp.path}.image`;
    copyFileSync(temp.path, image);
    truncateSync(image, 0);
    const empty = new SqliteStorage(image);
    expect((await empty.list()).runs).toEqual([]);
    await empty.close();
    expect(statSync(image).size).toBeGreaterThan(0);
  });
});
