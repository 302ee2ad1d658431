import { expect, inject, test } from "vitest";
import { planOf, simulate, tally } from "../src/sim/index.ts";

/** Seeds whose plans have purges, forks and more than one run. */
function seedsWithPurges(count: number): number[] {
  const seeds: number[] = [];
  for (let seed = 1; seeds.length < count; seed++) {
    const { actions } = planOf(seed);
    const kinds = new Set(actions.map(({ kind }) => kind));
    if (kinds.has("purge") && kinds.has("fork")) seeds.push(seed);
  }
  return seeds;
}

const seeds = seedsWithPurges(inject("full") ? 100 : 15);

test(
  `${seeds.length} histories with purges and forks: no living fork loses what it reads`,
  { timeout: 600_000 },
  async () => {
    const met = new Map<string, number>();
    for (const seed of seeds) {
      const report = await simulate({ seed });
      expect(report.violations, `seed ${seed}`).toEqual([]);
      tally(met, report.met);
    }
    expect(met.get("action purge")).toBeGreaterThan(seeds.length / 2);
    expect(met.get("a purge of a run")).toBeGreaterThan(0);
    expect(met.get("a purge of a run that a fork reads")).toBeGreaterThan(0);
  },
);
