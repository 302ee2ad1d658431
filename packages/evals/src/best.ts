/** What a report says in one line. */

import type { ReportData } from "./report.ts";

/** The variant whose first score changed most for the better; `null` where none can be compared. */
export function bestOf({ variants, scores: [primary = ""] }: ReportData): {
  readonly name: string;
  readonly change: number;
  readonly worse: number;
} | null {
  const changed = variants.slice(1).flatMap(({ name, scores, worse }) => {
    const change = scores[primary]?.change;
    return change ? [{ name, change: change.mean, worse }] : [];
  });
  return changed.toSorted((a, b) => b.change - a.change)[0] ?? null;
}

/** The report in one line, as the head of its run has it. */
export function summaryOf(report: ReportData) {
  const { runs, passed, paid } = report;
  const best = bestOf(report);
  return { runs, passed, paid: paid.cost, best: best && { ...best, name: best.name.slice(0, 120) } };
}
