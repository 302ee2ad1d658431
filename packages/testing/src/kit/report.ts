/** The report of a crash test: its findings, and a text to read. Proven in test/kit-report.test.ts. */

import type { CrashFindings } from "./findings.ts";
import { reportText } from "./report-text.ts";

/** What `crashEverywhere` found. */
export interface CrashReport<Output = unknown> extends CrashFindings<Output> {
  /**
   * True when every history had the result of the run without faults, and nothing was found that could differ
   * another time.
   */
  readonly ok: boolean;
  /** The report as text, with or without colours. */
  readonly text: (options?: { readonly colour?: boolean | undefined }) => string;
  /** The report as text, in colour on a terminal. */
  toString(): string;
}

export function crashReport<Output>(findings: CrashFindings<Output>): CrashReport<Output> {
  const { calm, totals, ambient, outside } = findings;
  const ok = totals.wrong === 0 && calm.problems.length === 0 && ambient.length + outside.length === 0;
  const text = (colour: boolean): string => reportText(findings, { colour, ok });
  return {
    ...findings,
    ok,
    text: ({ colour = false } = {}) => text(colour),
    toString: () => text(isScreen()),
  };
}

function isScreen(): boolean {
  const { env, stdout } = process;
  if (env["FORCE_COLOR"] !== undefined) return env["FORCE_COLOR"] !== "0";
  return stdout.isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/** Thrown by `crashEverywhere`; its message is the report. */
export class CrashError extends Error {
  readonly report: CrashReport;

  constructor(report: CrashReport) {
    super(report.text());
    this.name = "CrashError";
    this.report = report;
  }
}
