/** The simulator on RemoteStorage: three handles, one per process, on one bucket. */

import { expect, inject, test } from "vitest";
import { simulate } from "../src/sim/index.ts";
import { handles } from "./support/sim-remote.ts";
import { complaintOf } from "./support/sim-sweep.ts";

const seeds = inject("full") ? 40 : 10;
/** Seeds that once failed: a write to a slot of a deleted run, and a read of a blob that was not known yet. */
const onceFailed = [1_138, 1_163];

test(`H10 H15 ${seeds} simulated histories of a journal in a bucket`, { timeout: 300_000 }, async () => {
  let [runs, faults] = [0, 0];
  for (const seed of [...onceFailed, ...Array.from({ length: seeds }, (_, n) => n + 1)]) {
    const simulation = await simulate({ seed, open: handles });
    expect(complaintOf(simulation, "--remote")).toBe("");
    runs += simulation.runs;
    faults += simulation.faults.length;
  }
  expect(runs).toBeGreaterThan(seeds);
  expect(faults).toBeGreaterThan(seeds);
});
