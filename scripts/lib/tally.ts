/** Adds up what stages and their tests came to. */
import { readFileSync } from "node:fs";

export type Counts = { readonly passed: number; readonly failed: number };

export type Result = {
  readonly name: string;
  readonly ok: boolean;
  /** Null for a stage whose tests are not counted. */
  readonly tests: Counts | null;
};

export type Tally = Counts & {
  /** The stages that were not as they should be. */
  readonly red: readonly string[];
};

/** Passed are tests; failed are tests, and stages that are red without a failed test. */
export function tally(results: readonly Result[]): Tally {
  const red = results.filter(isRed);
  const sum = (pick: keyof Counts, of: readonly Result[]): number =>
    of.reduce((total, { tests }) => total + (tests?.[pick] ?? 0), 0);
  // A file that did not load, a run that was cut off, or no test at all.
  const silent = red.filter(({ tests }) => (tests?.failed ?? 0) === 0);
  return {
    passed: sum("passed", results),
    failed: sum("failed", results) + silent.length,
    red: red.map(({ name }) => name),
  };
}

/** Green without a single test would prove nothing. */
function isRed({ ok, tests }: Result): boolean {
  return !ok || (tests !== null && (tests.failed > 0 || tests.passed === 0));
}

/** The counts of vitest's JSON report; none where it wrote none. */
export function readCounts(file: string): Counts {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly numPassedTests?: number;
      readonly numFailedTests?: number;
    };
    return { passed: numPassedTests ?? 0, failed: numFailedTests ?? 0 };
  } catch {
    return { passed: 0, failed: 0 };
  }
}
