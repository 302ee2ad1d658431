/** Figures of a report, as people read them. */

import { costText, countText, secondsText } from "@durable/core/inspect";
import type { Amount } from "./measure.ts";
import type { CaseReport, GivenScore, ReportData, ScoreReport, VariantReport } from "./report.ts";
import type { Estimate } from "./statistics.ts";

export const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

const points = (value: number): string => `${value < 0 ? "" : "+"}${(100 * value).toFixed(1)}`;

export function meanText({ mean, low, high }: Estimate): string {
  return `${percent(mean)} [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`;
}

export function changeText({ change }: ScoreReport): string {
  return change === null ? "" : `${points(change.mean)} [${points(change.low)}, ${points(change.high)}]`;
}

export function amountText({ calls, inputTokens, outputTokens, cost }: Amount): string {
  const tokens = `${countText(inputTokens + outputTokens)} tokens`;
  return `${calls} ${calls === 1 ? "answer" : "answers"}, ${tokens}${cost === null ? "" : `, ${costText(cost)}`}`;
}

/** What was paid for one run, and what was not; empty where neither. */
export function shareText({ paid, reused }: Pick<CaseReport, "paid" | "reused">): string {
  const all = paid.calls + reused.calls;
  if (all === 0) return "";
  const isKnown = paid.cost !== null && reused.cost !== null;
  const text = ({ cost, inputTokens, outputTokens }: Amount): string =>
    isKnown ? costText(cost ?? 0) : `${countText(inputTokens + outputTokens)} tokens`;
  return `${reused.calls} of ${all} ${all === 1 ? "answer" : "answers"} reused: ${text(paid)} paid, ${text(reused)} saved`;
}

export function msText(ms: number): string {
  const seconds = ms < 1_000 ? null : secondsText(ms);
  if (seconds !== null) return `${seconds} s`;
  return ms < 1_000 ? `${ms} ms` : `${(ms / 60_000).toFixed(1)} min`;
}

export function timeText({ time }: VariantReport): string {
  return time === null ? "-" : `${msText(time.median)} (p95 ${msText(time.p95)})`;
}

/** True when there is a time to show. */
export const hasTimes = ({ variants }: ReportData): boolean => variants.some(({ time }) => time !== null);

/** Sentences about what was paid, and what was not. */
export function moneyLines({ paid, reused, judges, providerTools }: ReportData): string[] {
  return [
    `Paid: ${amountText(paid)}${judges.calls === 0 ? "" : `, of which judges ${amountText(judges)}`}.`,
    `From the journals: ${amountText(reused)}.`,
    ...(providerTools.length === 0
      ? []
      : [`These tools ran at the provider, which no eval can stop: ${providerTools.join(", ")}.`]),
  ];
}

export function scoreText(value: number | null | undefined): string {
  return value === null || value === undefined ? "-" : String(Math.round(value * 100) / 100);
}

/** What people and checks thought of the recorded run. */
export function givenText(scores: readonly GivenScore[]): string {
  return scores
    .map(({ name, value, note }) => `${name} ${scoreText(value)}${note === undefined ? "" : ` (${note})`}`)
    .join(", ");
}
