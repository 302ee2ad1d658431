/** Figures of evals, as people read them. */

import type { EvalEstimate, EvalItem, EvalReport } from "../../src/api-evals.ts";
import { plural } from "./format.ts";

export const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** Half of the interval. */
export const around = ({ low, high }: EvalEstimate): string => `± ${((100 * (high - low)) / 2).toFixed(1)}`;

export const points = (value: number): string =>
  `${value < 0 ? "−" : "+"}${(100 * Math.abs(value)).toFixed(1)}`;

/** A score of one run, which is often 0 or 1. */
export function scoreText(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : String(Math.round(value * 100) / 100);
}

/** The variant whose first score changed most for the better. */
export function bestIn({ variants, scores: [primary = ""] }: EvalReport): EvalItem["best"] {
  const changed = variants.slice(1).flatMap(({ name, scores, worse }) => {
    const change = scores[primary]?.change;
    return change ? [{ name, change: change.mean, worse }] : [];
  });
  return changed.toSorted((a, b) => b.change - a.change)[0] ?? null;
}

/** What a report says, in one line. */
export function verdictOf(best: EvalItem["best"]): string {
  if (best === null) return "Nothing to compare";
  const by = `${(100 * Math.abs(best.change)).toFixed(1)} points`;
  const is =
    best.change > 0 ? `better by ${by}` : best.change < 0 ? `worse by ${by}` : "as good as the record";
  return `${best.name} is ${is}; ${plural(best.worse, "run")} got worse`;
}
