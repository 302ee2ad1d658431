import { expect, inject, test } from "vitest";
import { tally, unmet } from "../../src/coverage.ts";
import { describeViolations, simulate, type Simulation } from "../../src/index.ts";

/** Empty, or the violations and the command that shows them again. */
export function complaintOf({ plan, violations }: Simulation, option = ""): string {
  return violations.length === 0
    ? ""
    : `npm run sim -- --seed ${plan.seed} ${option}\n${describeViolations(violations)}`;
}

/** Registers a sweep. Tests of one file run in sequence and files in parallel, so each sweep has its own file. */
export function sweep(
  first: number,
  sizes: { readonly sample: readonly number[]; readonly full: number },
): void {
  const seeds = inject("full") ? Array.from({ length: sizes.full }, (_, n) => first + n) : sizes.sample;
  const count = seeds.length;
  test(
    `H1 H2 H4 H10 H21 H27 H28 H33 H37 H38 H45 H55 H57 H59 ${count} seeds from ${first}`,
    {
      timeout: 1_800_000,
    },
    async () => {
      const met = new Map<string, number>();
      for (const seed of seeds) {
        const simulation = await simulate({ seed });
        tally(met, simulation.met);
        expect(complaintOf(simulation)).toBe("");
      }
      // A sweep that did not meet an event has not tested it. The rarest events take hundreds of seeds.
      const missing = unmet(met);
      const rare = count < 50 ? 64 : count < 1_000 ? 45 : 0;
      expect(missing.length > rare ? missing : []).toEqual([]);
    },
  );
}
