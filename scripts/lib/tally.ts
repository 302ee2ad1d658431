/** Counts tests and failures over all stages. */
import { readFileSync } from "node:fs";

export type Counts = { readonly passed: number; readonly failed: number };

export type Result = {
  readonly name: string;
  readonly ok: boolean;
  /** Null for a stage whose tests are not counted. */
  readonly tests: Counts | null;
};

export type Tally = Counts & {
  /** Names of the failed stages. */
  readonly red: readonly string[];
};

/** `passed` counts tests. `failed` counts tests, and stages that failed without a failed test. */
export function tally(results: readonly Result[]): Tally {
  const red = results.filter(isRed);
  const sum = (pick: keyof Counts, of: readonly Result[]): number =>
    of.reduce((total, { tests }) => total + (tests?.[pick] ?? 0), 0);
  // For example a test file that did not load, a killed run, or a run without tests.
  const silent = red.filter(({ tests }) => (tests?.failed ?? 0) === 0);
  return {
    passed: sum("passed", results),
    failed: sum("failed", results) + silent.length,
    red: red.map(({ name }) => name),
  };
}

/** A test stage that ran no test has failed. */
function isRed({ ok, tests }: Result): boolean {
  return !ok || (tests !== null && (tests.failed > 0 || tests.passed === 0));
}

/** The counts in vitest's JSON report; zero when there is no report. */
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
