/** The simulator on RemoteStorage: three handles, one per process, on one bucket. */

import { expect, inject, test } from "vitest";
import { planOf, simulate, type Plan } from "../src/sim/index.ts";
import regressions from "./sim-remote-regressions.json" with { type: "json" };
import { handles } from "./support/sim-remote.ts";
import { complaintOf } from "./support/sim-sweep.ts";

const seeds = inject("full") ? 40 : 2;
/** Plans that once failed. */
const onceFailed = (regressions as unknown as { found: string; plan: Plan }[]).map(({ plan }) => plan);

test(`H10 H15 ${seeds} simulated histories of a journal in a bucket`, { timeout: 900_000 }, async () => {
  let [runs, faults] = [0, 0];
  for (const plan of [...onceFailed, ...Array.from({ length: seeds }, (_, n) => planOf(n + 1))]) {
    const simulation = await simulate({ plan, open: handles });
    expect(complaintOf(simulation, "--remote")).toBe("");
    runs += simulation.runs;
    faults += simulation.faults.length;
  }
  expect(runs).toBeGreaterThan(seeds);
  expect(faults).toBeGreaterThan(seeds);
});
