import { afterEach, describe, expect, inject, it } from "vitest";
import { killChildren } from "../../support/child-process.ts";
import { killWriters } from "./support/kills.ts";
import { doubled, Ledger } from "./support/ledger.ts";
import { killDrivers } from "./support/lives.ts";
import { tearFiles } from "./support/torn.ts";

// A fixed sample of what `npm run soak:sqlite` does for as long as it is told to.
const [writers, drivers, torn] = inject("full") ? [20, 9, 150] : [2, 2, 15];

describe("a process that is killed while it writes (H11)", () => {
  afterEach(killChildren);

  it(`loses nothing that was acknowledged, ${writers} times`, { timeout: 300_000 }, async () => {
    const report = await killWriters({ kills: writers, seed: 11 });
    expect(report).toMatchObject({ kills: writers, lost: 0, doubled: 0 });
    expect(report.acknowledged).toBeGreaterThan(5 * writers);
    expect(report.batches).toBeGreaterThanOrEqual(report.acknowledged);
  });
});

describe("processes that are killed while they drive the same workflows (H11)", () => {
  afterEach(killChildren);

  it("would be found out: what is missing, twice, or run again is counted", () => {
    const ledger = new Ledger();
    ledger.hear(["up", "ran a do:1", "saw a do:1", "answered a answer:2"]);
    ledger.roundIsOver();
    ledger.hear(["ran a do:1", "ran a do:3"]);
    const kept = { runId: "a", parent: null, status: "running", settled: ["do", "do"], writeIds: ["w.1"] };
    expect(ledger.lost([])).toEqual(["a do:1", "a answer:2"]);
    expect(ledger.lost([{ ...kept, text: '["do:1"]["answer:22"]' }])).toEqual(["a answer:2"]);
    expect(doubled([{ ...kept, text: "" }])).toEqual(["a do"]);
    expect(ledger.rerun).toBe(1);
  });

  it("need not have what the trial of a fork's edits saw in its parent, before the fork was made", () => {
    const ledger = new Ledger();
    const parent = {
      runId: "a",
      parent: null,
      status: "completed",
      settled: [],
      writeIds: [],
      text: '["do:1"]',
    };
    ledger.hear(["up", "saw a-fork do:1", "saw a-fork edited:a"]);
    expect(ledger.lost([parent])).toEqual([]);
    expect(ledger.lost([{ ...parent, text: "" }])).toEqual(["a-fork do:1"]);
    expect(ledger.lost([parent, { ...parent, runId: "a-fork" }])).toEqual(["a-fork edited:a"]);
    ledger.hear(["forked a-fork"]);
    expect(ledger.lost([parent])).toEqual(["a-fork"]);
  });

  it(
    "give together what one gives in calm, on MemoryStorage, after kills",
    { timeout: 300_000 },
    async () => {
      const report = await killDrivers({ kills: drivers, seed: 11 });
      expect(report.faults).toEqual([]);
      expect(report).toMatchObject({ kills: drivers, lost: 0, doubled: 0, rerun: 0, different: 0 });
      expect(report.runs).toBeGreaterThanOrEqual(12);
      expect(report.acknowledged).toBeGreaterThan(100);
    },
  );
});

describe("files that were torn, or have bits flipped (H12)", () => {
  afterEach(killChildren);

  it("give a prefix of history or an error of ours, never a changed record", async () => {
    const { images, parts, ...report } = await tearFiles({ images: torn, seed: 12 });
    expect(report.faults).toEqual([]);
    expect(report.changed).toBe(0);
    expect(report.whole + report.shorter + report.refused).toBe(images);
    const third = images / 3;
    expect(parts, "log, file with a log, file alone").toEqual({ log: third, file: third, closed: third });
    expect(report.shorter, "most damage to a log is noticed").toBeGreaterThan(0.6 * third);
    expect(report.refused, "and most damage to a file").toBeGreaterThan(third);
  });
});
