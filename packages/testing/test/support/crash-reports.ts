/** Reports of crash tests: the clean ones, and those that must show a problem. */

import { CrashError, type CrashReport } from "@durable/testing";
import { expect } from "vitest";

/** Expects a report without problems in which every fault was injected. */
export function expectClean(report: CrashReport): void {
  expect(report.ok, report.text()).toBe(true);
  expect(report.totals).toMatchObject({
    wrong: 0,
    missed: 0,
    cases: report.boundaries.length * report.faults.length,
  });
  expect(report.boundaries.length).toBeGreaterThan(2);
  expect(report.ambient).toEqual([]);
  expect(report.warnings).toEqual([]);
}

/** The report of a test that failed. */
export async function reportOf(test: Promise<CrashReport>): Promise<CrashReport> {
  const error: unknown = await test.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CrashError)) throw new Error("The fault was not found.", { cause: error });
  expect(error.message).toBe(error.report.text());
  return error.report;
}

/** The checks that found a problem. */
export function checks({ cases }: CrashReport): Set<string> {
  return new Set(cases.flatMap(({ problems }) => problems.map(({ check }) => check)));
}
