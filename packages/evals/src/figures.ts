/** Figures of a report, as people read them. */

import { costText, countText } from "@durable/core/inspect";
import type { Amount } from "./measure.ts";
import type { GivenScore, ReportData, ScoreReport } from "./report.ts";
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
