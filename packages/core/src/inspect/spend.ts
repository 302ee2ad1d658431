/** What usage costs: sums of tokens, and their price where prices are given. */

import { costOf, sumUsage, type Prices, type Usage } from "../values/usage.ts";

/** A sum of usage, with its cost. */
export interface Spend {
  /** One sum per model. */
  readonly usage: readonly Usage[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In the currency of the prices; `null` when it is not known of every model. */
  readonly cost: number | null;
}

/** Adds up usage, and what it cost when it was recorded, or costs at these prices. */
export function spendOf(usages: readonly Usage[], prices?: Prices): Spend {
  const usage = sumUsage(usages);
  const total = (count: "inputTokens" | "outputTokens"): number =>
    usage.reduce((sum, used) => sum + (used[count] ?? 0), 0);
  const costs = usage.map((used) => costOf(used, prices) ?? used.cost ?? null);
  return {
    usage,
    inputTokens: total("inputTokens"),
    outputTokens: total("outputTokens"),
    cost:
      costs.includes(null) || (prices === undefined && costs.length === 0)
        ? null
        : costs.reduce<number>((a, b) => a + (b ?? 0), 0),
  };
}
