import { expect, inject, test } from "vitest";
import { tally } from "../src/coverage.ts";
import { planOf, simulate } from "../src/index.ts";

/** Seeds whose plans have purges, forks and more than one run. */
function* seedsWithPurges(first: number): Generator<number> {
  for (let seed = first; ; seed++) {
    const { actions } = planOf(seed);
    const kinds = new Set(actions.map(({ kind }) => kind));
    if (kinds.has("purge") && kinds.has("fork")) yield seed;
  }
}

const events = ["a purge of a run", "a purge of a run that a fork reads"];
/** A sample ends when it has met these events; it begins where they are near. */
const [first, least, most] = inject("full") ? [1, 100, 100] : [253, 2, 40];

test(
  "histories with purges and forks: no living fork loses what it reads",
  { timeout: 600_000 },
  async () => {
    const met = new Map<string, number>();
    const unmet = (): string[] => events.filter((event) => !met.has(event));
    let done = 0;
    for (const seed of seedsWithPurges(first)) {
      const report = await simulate({ seed });
      expect(report.violations, `seed ${seed}`).toEqual([]);
      tally(met, report.met);
      done += 1;
      if (done === most || (done >= least && unmet().length === 0)) break;
    }
    expect(met.get("action purge")).toBeGreaterThan(done / 2);
    expect(unmet()).toEqual([]);
  },
);
