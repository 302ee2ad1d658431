import { expect, test } from "vitest";
import { describeViolations, simulate, tally, unmet, type Simulation } from "../../src/sim/index.ts";

/** Nothing, or what is wrong and the command that shows it again. */
export function complaintOf({ plan, violations }: Simulation, option = ""): string {
  return violations.length === 0
    ? ""
    : `npm run sim -- --seed ${plan.seed} ${option}\n${describeViolations(violations)}`;
}

/** Tests of one file run one after the other, files side by side: a sweep is cut into files. */
export function sweep(first: number, count: number): void {
  test(
    `H1 H2 H4 H10 H21 H27 H28 H33 H37 H38 H45 H55 H57 H59 ${count} seeds from ${first}`,
    {
      timeout: 600_000,
    },
    async () => {
      const met = new Map<string, number>();
      for (let seed = first; seed < first + count; seed++) {
        const simulation = await simulate({ seed });
        tally(met, simulation.met);
        expect(complaintOf(simulation)).toBe("");
      }
      // A sweep that did not meet something has not tested it. The rarest things take hundreds of seeds.
      const missing = unmet(met);
      expect(missing.length > (count < 1_000 ? 12 : 0) ? missing : []).toEqual([]);
    },
  );
}
