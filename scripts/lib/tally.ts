/** Counts tests and failures over all stages. */
import { readFileSync } from "node:fs";
import { relative } from "node:path";

export type Counts = { readonly passed: number; readonly failed: number };

export type Report = Counts & {
  /** File and name of each failed test, with the first line of its error. */
  readonly failures: readonly string[];
};

export type Result = {
  readonly name: string;
  readonly ok: boolean;
  /** Null for a stage whose tests are not counted. */
  readonly tests: Report | null;
};

export type Tally = Counts & {
  /** Names of the failed stages. */
  readonly red: readonly string[];
  readonly failures: readonly string[];
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
    failures: red.flatMap(({ tests }) => tests?.failures ?? []),
  };
}

/** A test stage that ran no test has failed. */
function isRed({ ok, tests }: Result): boolean {
  return !ok || (tests !== null && (tests.failed > 0 || tests.passed === 0));
}

interface VitestReport {
  readonly numPassedTests?: number;
  readonly numFailedTests?: number;
  readonly testResults?: readonly VitestFile[];
}

interface VitestFile {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[];
  }[];
}

/** What vitest's JSON report says; zero tests when there is no report. */
export function readReport(file: string): Report {
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(
      readFileSync(file, "utf8"),
    ) as VitestReport;
    return {
      passed: numPassedTests ?? 0,
      failed: numFailedTests ?? 0,
      failures: (testResults ?? []).flatMap(failuresOf),
    };
  } catch {
    return { passed: 0, failed: 0, failures: [] };
  }
}

function failuresOf({ name, status, message, assertionResults }: VitestFile): string[] {
  const file = relative(process.cwd(), name);
  const failed = assertionResults.filter((test) => test.status === "failed");
  // A file that did not load has no tests.
  if (failed.length === 0) return status === "failed" ? [`${file}\n    ${firstLine(message)}`] : [];
  return failed.map((test) => `${file} > ${test.fullName}\n    ${firstLine(test.failureMessages?.[0])}`);
}

function firstLine(text = ""): string {
  return text.split("\n", 1)[0] ?? "";
}
