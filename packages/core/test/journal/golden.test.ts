import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Journal, MemoryStorage } from "@durable/core";
import type { FactKind } from "@durable/core/storage";
import { aesGcm } from "@durable/core/encryption";
import { replayGolden, virtualWorld, type GoldenJournal, type GoldenOptions } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { formatVersion } from "../../src/journal/batch.ts";
import type { Tag } from "../../src/values/codec/tags.ts";
import { goldenFlows as first } from "./support/golden-flows.ts";
import { goldenFlowsOfEnds } from "./support/golden-flows-ends.ts";
import { goldenFlowsOfStreams } from "./support/golden-flows-streams.ts";
import { goldenFlowsFind } from "./support/golden-flows-find.ts";
import { goldenFlowsOfChapters } from "./support/golden-flows-chapters.ts";
import { goldenLimits } from "./support/golden-limits.ts";
import { goldenSteered } from "./support/golden-steer.ts";
import { goldenCipher as encryption } from "./support/golden-make-streams.ts";
import { sumOf } from "./support/golden-sums.ts";

const folder = fileURLToPath(new URL("./golden/", import.meta.url));
const files = globSync(`${folder}*.json`).toSorted();
const journalOf = (file: string): GoldenJournal => JSON.parse(readFileSync(file, "utf8")) as GoldenJournal;
const all = new Map(files.map((file) => [basename(file, ".json"), journalOf(file)]));
/** One has no workflow that could replay it. */
const journals = new Map([...all].filter(([, { workflow }]) => workflow !== ""));
const goldenFlows = [
  ...first,
  ...goldenFlowsOfStreams,
  ...goldenFlowsOfChapters,
  ...goldenFlowsFind,
  ...goldenSteered,
  ...goldenFlowsOfEnds,
  ...goldenLimits,
];
/** Today's code, and the key where the journal needs one. */
const todayOf = (journal: GoldenJournal): GoldenOptions => ({
  against: goldenFlows,
  ...(JSON.stringify(journal).includes('"$":"sealed"') ? { encryption } : {}),
});

/** The compiler asks for a kind or a tag that is new; the test below then asks for a journal that has it. */
const kinds: Record<FactKind, true> = {
  "run.started": true,
  "run.forked": true,
  "run.continued": true,
  "run.queued": true,
  "step.started": true,
  "step.progress": true,
  "step.completed": true,
  "step.failed": true,
  "attempt.failed": true,
  "stream.chunks": true,
  "stream.completed": true,
  "stream.failed": true,
  "child.opened": true,
  "child.completed": true,
  "child.failed": true,
  "child.closed": true,
  "spawn.opened": true,
  "spawn.started": true,
  "spawn.failed": true,
  "tag.set": true,
  "sleep.opened": true,
  "sleep.fired": true,
  "suspend.opened": true,
  "suspend.answered": true,
  "suspend.resolved": true,
  "suspend.rejected": true,
  "suspend.expired": true,
  "suspend.closed": true,
  "message.sent": true,
  "report.set": true,
  "parallel.opened": true,
  "race.opened": true,
  "run.suspended": true,
  "run.completed": true,
  "run.failed": true,
  "run.cancelled": true,
  "run.failing": true,
  "run.cancelling": true,
  "cleanup.opened": true,
  "cleanup.started": true,
  "cleanup.completed": true,
  "cleanup.failed": true,
  "run.paused": true,
  "run.unpaused": true,
  "run.retried": true,
  "run.regressed": true,
  "run.scored": true,
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
  secret: true,
  ref: true,
};

describe("H54 journals of every format", () => {
  test.each([...journals.keys()])(
    "H2 %s replays cold, to the same end or the same waits, and runs nothing",
    async (name) => {
      const journal = journals.get(name)!;
      const { journals: results } = await replayGolden(journal, todayOf(journal));
      expect(results).toMatchObject([{ runId: journal.runId, verdict: "replays", message: null }]);
    },
  );

  test("hold every kind of entry and every tag of the codec", () => {
    const text = JSON.stringify([...all.values()]);
    const first = ["orphans", "edits", "answerId", "ancestors", "took", "attempt", "outside", "label"];
    const second = ["blobs", "children", "childOf", "look", "chunks", "stream"];
    const third = ["nonce", "chapter", "first", "head", "above", "from", "abandoned", "unawaited"];
    const fields = [...first, ...second, ...third];
    const missing = [
      ...[formatVersion].filter((format) => !text.includes(`{"v":${format},`)),
      ...["sealed"].filter((tag) => !text.includes(`"$":"${tag}"`)),
      ...["@", "*", "+"].filter((tag) => !text.includes(`"$":"${tag}`)),
      ...Object.keys(kinds).filter((kind) => !text.includes(`"kind":"${kind}"`)),
      ...Object.keys(tags).filter((tag) => !text.includes(`"$":"${tag}"`)),
    ];
    expect([...missing, ...fields.filter((field) => !text.includes(`"${field}":`))]).toEqual([]);
    expect(files.length).toBeGreaterThanOrEqual(48);
  });

  test("are as they were when they were made: what another build wrote cannot be made again", () => {
    const sums = readFileSync(`${folder}sums.txt`, "utf8").trimEnd().split("\n");
    const found = globSync(`${folder}*.{json,db}`).map(sumOf);
    expect(found.toSorted()).toEqual(sums.toSorted());
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
        { ...todayOf(journal), report: true },
      );
      expect(results[0], name).toMatchObject({ verdict: "newer-format" });
      expect(results[0]?.message, name).toContain(
        `has format ${later}, newer than this build reads (${formatVersion}). Upgrade`,
      );
    }
  });

  test("a journal in which one batch is of a format before the first release is named as such", async () => {
    const journal = journals.get("completed-sequence")!;
    const batches = journal.batches.map((batch, n) =>
      n === 1 && typeof batch === "object" ? { ...batch, v: formatVersion - 1 } : batch,
    );
    const options = { ...todayOf(journal), report: true };
    const { journals: results } = await replayGolden({ ...journal, batches }, options);
    expect(results).toMatchObject([{ verdict: "pre-release" }]);
  });

  test("H68 sealed journals do not replay without their key, nor with another", async () => {
    const sealed = [...journals.values()].filter((journal) => "encryption" in todayOf(journal));
    expect(sealed.length).toBeGreaterThanOrEqual(2);
    for (const [cipher, verdict] of [
      [{}, "no-key"],
      [
        {
          encryption: aesGcm({
            current: "golden",
            keys: {
              golden: Uint8Array.from({ length: 32 }, (_, at) => at + 1),
              today: Uint8Array.from({ length: 32 }, (_, at) => at + 2),
            },
          }),
        },
        "tampered",
      ],
    ] as const) {
      const { journals: results } = await replayGolden(sealed, {
        against: goldenFlows,
        report: true,
        ...cipher,
      });
      expect(results.map((result) => result.verdict)).toEqual(sealed.map(() => verdict));
    }
  });

  test("a journal that lost its blobs, or its children, is told from one that has them", async () => {
    const { blobs: _, ...poor } = journals.get("completed-book")!;
    const { children: __, ...childless } = journals.get("parked-in-children")!;
    const { journals: results } = await replayGolden([poor, childless], {
      against: goldenFlows,
      report: true,
    });
    expect(results.map(({ verdict }) => verdict)).toEqual(["corrupt", "would run teacher/pupil/work"]);
    expect(results[0]?.message).toMatch(/refers to blob .* which is missing/);
  });

  test("a journal without a workflow gives its records, and runs nothing", async () => {
    const { runId, batches } = all.get("direct")!;
    const world = virtualWorld();
    const storage = new MemoryStorage({ now: () => world.now() });
    const probe = await Journal.open(runId, { world, storage });
    await world.run(probe.record("other", () => 1));
    const { locator } = (await storage.list()).runs[0]!;
    const fresh = new MemoryStorage({ now: () => world.now() });
    const head = { ...(await storage.list()).runs[0]!, status: "running" as const };
    for (const [position, batch] of batches.entries())
      await fresh.append({ locator, position, batch: JSON.stringify(batch), head });
    const journal = await Journal.open(runId, { world, storage: fresh });
    const refuse = (): never => {
      throw new Error("It runs.");
    };
    expect(await journal.record("answer", refuse, { input: "answer" })).toEqual({
      text: "42",
      when: new Date(0),
    });
    const chunks: unknown[] = [];
    for await (const chunk of journal.recordStream("tokens", refuse)) chunks.push(chunk);
    expect(chunks).toEqual(["Hel", "lo"]);
    expect(journal.has("refused")).toBe(false);
  });

  test("a journal that lost its first batch, or one of its ancestors, is corrupt", async () => {
    const { batches, ...rest } = journals.get("completed-reviews")!;
    const headless = { ...rest, batches: batches.slice(1) };
    const { ancestors: _, ...orphaned } = journals.get("forked-of-forked")!;
    const report = await replayGolden([headless, orphaned], { against: goldenFlows, report: true });
    expect(report.journals.map(({ verdict }) => verdict)).toEqual(["corrupt", "corrupt"]);
  });
});
