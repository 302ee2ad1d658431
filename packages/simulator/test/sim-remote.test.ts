/** The simulator on RemoteStorage: three handles, one per process, on one bucket. */

import { expect, inject, test } from "vitest";
import { planOf, simulate } from "../src/index.ts";
import type { Plan } from "../src/plan.ts";
import regressions from "./sim-remote-regressions.json" with { type: "json" };
import { handles } from "./support/sim-remote.ts";
import { complaintOf } from "./support/sim-sweep.ts";

// Those of the sample are short, with many faults and kinds of entries.
const numbers = inject("full") ? Array.from({ length: 40 }, (_, n) => n + 1) : [73, 147];
const seeds = numbers.length;
/** Plans that once failed. */
const onceFailed = (regressions as unknown as { found: string; plan: Plan }[]).map(({ plan }) => plan);

test(`H10 H15 ${seeds} simulated histories of a journal in a bucket`, { timeout: 900_000 }, async () => {
  let [runs, faults] = [0, 0];
  for (const plan of [...onceFailed, ...numbers.map((seed) => planOf(seed))]) {
    const simulation = await simulate({ plan, open: handles });
    expect(complaintOf(simulation, "--remote")).toBe("");
    runs += simulation.runs;
    faults += simulation.faults.length;
  }
  expect(runs).toBeGreaterThan(seeds);
  expect(faults).toBeGreaterThan(seeds);
});
