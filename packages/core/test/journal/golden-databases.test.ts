import { copyFileSync, globSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createApp, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { recordGolden, replayGolden, virtualWorld } from "@durable/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { schemaVersion } from "../../src/adapters/sqlite/schema.ts";
import { goldenFlows as first } from "./support/golden-flows.ts";
import { goldenFlowsOfStreams } from "./support/golden-flows-streams.ts";
import { goldenFlowsOfChapters } from "./support/golden-flows-chapters.ts";
import { secret, tokenOf } from "./support/golden-place.ts";
import { tempFolder } from "../support/sqlite-temp.ts";

const folder = fileURLToPath(new URL("./golden/", import.meta.url));
const goldenFlows = [...first, ...goldenFlowsOfStreams, ...goldenFlowsOfChapters];

test("H54 there is a file of every schema: golden-make.ts makes the newest", () => {
  const found = globSync(`${folder}schema-*.db`).map((file) => basename(file, ".db"));
  expect(found).toEqual([`schema-${schemaVersion}`]);
});

describe(`H54 a file as schema-${schemaVersion}`, () => {
  /** A copy: opening a file may bring it up to date. */
  function opened(): SqliteStorage {
    const temp = tempFolder();
    copyFileSync(`${folder}schema-${schemaVersion}.db`, temp.path);
    const database = new DatabaseSync(temp.path);
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: schemaVersion });
    database.close();
    const storage = new SqliteStorage(temp.path);
    onTestFinished(async () => {
      await storage.close();
      temp.remove();
    });
    return storage;
  }

  test("opens, lists its runs, and its journals replay", async () => {
    const storage = opened();
    const { runs } = await storage.list();
    expect(runs.map(({ runId, status }) => `${runId} ${status}`).toSorted()).toEqual([
      "sqlite-blobs suspended",
      "sqlite-blocked blocked",
      "sqlite-chapters suspended",
      "sqlite-failed failed",
      "sqlite-fork suspended",
      "sqlite-parked suspended",
    ]);
    const recorded = await Promise.all(runs.map(({ runId }) => recordGolden(storage, runId)));
    const { ok } = await replayGolden(recorded, { against: goldenFlows });
    expect(ok).toBe(true);
    expect(recorded.filter(({ blobs }) => blobs !== undefined)).toHaveLength(2);
    expect(recorded.filter(({ from }) => from !== undefined)).toHaveLength(1);
  });

  test("takes a run whose values are cut into blobs, and gives them back", async () => {
    const storage = opened();
    const world = virtualWorld({ start: Date.UTC(2026, 5, 1) });
    const pages = Array.from({ length: 40 }, (_, n) => `page ${n} `.repeat(400));
    const book = durable("book", (ctx) => ctx.step("write", () => pages));
    const host = { storage, world, secret: "any secret, of no worth" };
    await world.run(book.with(host).run(undefined, { id: "book" }));
    const { locator } = (await storage.list({ workflow: "book" })).runs[0]!;
    expect(Object.keys((await storage.read(locator)).blobs ?? {}).length).toBeGreaterThan(1);
    expect(await book.with(host).get("book").outcome()).toMatchObject({ status: "completed", output: pages });
    await storage.delete(locator);
    expect(await storage.read(locator)).toEqual({ batches: [], length: 0, deleted: false });
  });

  test("takes an answer to a run that was parked in it, and the run ends", async () => {
    const storage = opened();
    const world = virtualWorld({ start: Date.UTC(2026, 5, 1) });
    const app = createApp({ storage, world, secret: "any secret, of no worth", workflows: goldenFlows });
    const parked = await app.get("sqlite-parked").outcome();
    const token = parked.status === "suspended" ? parked.waiting[0]!.token : "";
    expect(await world.run(app.resume(token, 42))).toMatchObject({
      status: "accepted",
      outcome: { status: "completed", output: { late: "nobody", never: "suspend-expired", mailed: 42 } },
    });
  });

  test("has a run without its first chapters, and a note about a run that is blocked", async () => {
    const storage = opened();
    const world = virtualWorld({ start: Date.UTC(2026, 5, 1) });
    const app = createApp({ storage, world, secret, workflows: goldenFlows });
    const chapters = await app.get("sqlite-chapters").outcome();
    const told = tokenOf(chapters, "note");
    expect(told).toBe("aombqcreamy54dtw5jco6dihsr7i3vv4bz4hx5fflknymhkpkr64mxi");
    expect(await world.run(app.resume(told, "end"))).toMatchObject({
      outcome: {
        status: "completed",
        output: { day: 3, notes: ["note of day 1", "note of day 2"], lines: 2 },
      },
    });
    const blocked = await app.get("sqlite-blocked").outcome();
    expect(blocked).toMatchObject({
      status: "blocked",
      error: { code: "diverged" },
      since: Date.UTC(2026, 0, 1, 3),
    });
    expect((await app.list({ status: "blocked" })).runs).toMatchObject([{ blocked: { code: "diverged" } }]);
    expect(await world.run(app.advance("sqlite-blocked"))).toMatchObject({ waiting: [{ key: "more" }] });
    expect((await app.list({ status: "blocked" })).runs).toEqual([]);
  });
});
