import { copyFileSync, globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createApp, durable, type FactKind } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { recordGolden, replayGolden, virtualWorld, type GoldenJournal } from "@durable/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { formatVersion } from "../src/batch.ts";
import type { Tag } from "../src/codec/tags.ts";
import { migrations } from "../src/sqlite/schema.ts";
import { goldenFlows } from "./support/golden-flows.ts";
import { tempFolder } from "./support/sqlite-temp.ts";

const folder = fileURLToPath(new URL("./golden/", import.meta.url));
const files = globSync(`${folder}*.json`).toSorted();
const journalOf = (file: string): GoldenJournal => JSON.parse(readFileSync(file, "utf8")) as GoldenJournal;
const journals = new Map(files.map((file) => [basename(file, ".json"), journalOf(file)]));

/** The compiler asks for a kind or a tag that is new; the test below then asks for a journal that has it. */
const kinds: Record<FactKind, true> = {
  "run.started": true,
  "run.forked": true,
  "step.completed": true,
  "step.failed": true,
  "attempt.failed": true,
  "sleep.opened": true,
  "sleep.fired": true,
  "suspend.opened": true,
  "suspend.answered": true,
  "suspend.resolved": true,
  "suspend.rejected": true,
  "suspend.expired": true,
  "suspend.closed": true,
  "parallel.opened": true,
  "race.opened": true,
  "run.suspended": true,
  "run.completed": true,
  "run.failed": true,
  "run.cancelled": true,
};
const tags: Record<Tag, true> = {
  undefined: true,
  number: true,
  bigint: true,
  date: true,
  map: true,
  set: true,
  regexp: true,
  url: true,
  error: true,
  bytes: true,
  sparse: true,
  object: true,
  ref: true,
};

describe("H54 journals of format 1", () => {
  test.each([...journals.keys()])(
    "H2 %s replays cold, to the same end or the same waits, and runs nothing",
    async (name) => {
      const journal = journals.get(name)!;
      const { journals: results } = await replayGolden(journal, { against: goldenFlows });
      expect(results).toMatchObject([{ runId: journal.runId, verdict: "replays", message: null }]);
    },
  );

  test("hold every kind of entry and every tag of the codec", () => {
    const text = JSON.stringify([...journals.values()]);
    const fields = ["orphans", "edits", "answerId", "ancestors", "took", "attempt", "outside", "label"];
    const missing = [
      ...Object.keys(kinds).filter((kind) => !text.includes(`"kind":"${kind}"`)),
      ...Object.keys(tags).filter((tag) => !text.includes(`"$":"${tag}"`)),
    ];
    expect([...missing, ...fields.filter((field) => !text.includes(`"${field}":`))]).toEqual([]);
    expect(files.length).toBeGreaterThanOrEqual(16);
  });

  test("name no folder of the machine they were made on", () => {
    for (const [name, journal] of journals)
      expect(JSON.stringify(journal), name).not.toMatch(/file:\/\/|\/packages\//);
  });

  test("a journal in which one batch is of a later format is newer than this build, and not corrupt", async () => {
    const later = formatVersion + 1;
    for (const [name, journal] of journals) {
      const last = journal.batches.length - 1;
      const batches = journal.batches.map((batch, n) =>
        n === last && typeof batch === "object"
          ? { ...batch, v: later, entries: [{ kind: "step.dreamt" }] }
          : batch,
      );
      const { journals: results } = await replayGolden(
        { ...journal, batches },
        { against: goldenFlows, report: true },
      );
      expect(results[0], name).toMatchObject({ verdict: "newer-format" });
      expect(results[0]?.message, name).toContain(
        `written in format ${later}, newer than this build reads (${formatVersion}). Upgrade`,
      );
    }
  });

  test("a journal that lost its first batch, or one of its ancestors, is corrupt", async () => {
    const { batches, ...rest } = journals.get("completed-reviews")!;
    const headless = { ...rest, batches: batches.slice(1) };
    const { ancestors: _, ...orphaned } = journals.get("forked-of-forked")!;
    const report = await replayGolden([headless, orphaned], { against: goldenFlows, report: true });
    expect(report.journals.map(({ verdict }) => verdict)).toEqual(["corrupt", "corrupt"]);
  });
});

const versions = migrations.map((_, n) => n + 1);

test("H54 there is a file of every schema: golden-make.ts makes the newest", () => {
  const found = globSync(`${folder}schema-*.db`).map((file) => basename(file));
  expect(found.toSorted()).toEqual(versions.map((version) => `schema-${version}.db`));
});

describe.each(versions)("H54 a file of schema %i", (version) => {
  /** A copy: opening a file may bring it up to date. */
  function opened(): SqliteStorage {
    const temp = tempFolder();
    copyFileSync(`${folder}schema-${version}.db`, temp.path);
    const database = new DatabaseSync(temp.path, { readOnly: true });
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: version });
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
      "sqlite-failed failed",
      "sqlite-fork suspended",
      "sqlite-parked suspended",
    ]);
    const recorded = await Promise.all(runs.map(({ runId }) => recordGolden(storage, runId)));
    const { ok } = await replayGolden(recorded, { against: goldenFlows });
    expect(ok).toBe(true);
  });

  test("takes a run whose values are cut into blobs, and gives them back", async () => {
    const storage = opened();
    const world = virtualWorld({ start: Date.UTC(2026, 5, 1) });
    const pages = Array.from({ length: 40 }, (_, n) => `page ${n} `.repeat(400));
    const book = durable("book", (ctx) => ctx.step("write", () => pages));
    const host = { storage, world, secret: "any" };
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
    const app = createApp({ storage, world, secret: "any", workflows: goldenFlows });
    const parked = await app.get("sqlite-parked").outcome();
    const token = parked.status === "suspended" ? parked.waiting[0]!.token : "";
    expect(await world.run(app.resume(token, 42))).toMatchObject({
      status: "accepted",
      outcome: { status: "completed", output: { late: "nobody", never: "suspend-expired", mailed: 42 } },
    });
  });
});
