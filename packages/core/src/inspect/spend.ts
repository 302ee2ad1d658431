/** What usage costs: sums of tokens, and their price where prices are given. */

import { sumUsage, type Usage } from "../journal/usage.ts";

/** Prices of a million tokens, by the name of the model. */
export type Prices = Readonly<
  Record<
    string,
    {
      readonly input: number;
      readonly output: number;
      /** For input from the cache of the provider; as `input` by default. */
      readonly cachedInput?: number;
      /** For input that is written to that cache; as `input` by default. */
      readonly cacheWrite?: number;
    }
  >
>;

/** A sum of usage, with its cost. */
export interface Spend {
  /** One sum per model. */
  readonly usage: readonly Usage[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In the currency of the prices; `null` without prices, or when a model has no price. */
  readonly cost: number | null;
}

/** Adds up usage, and its cost where prices are given. */
export function spendOf(usages: readonly Usage[], prices?: Prices): Spend {
  const usage = sumUsage(usages);
  const total = (count: "inputTokens" | "outputTokens"): number =>
    usage.reduce((sum, used) => sum + (used[count] ?? 0), 0);
  const costs = usage.map((used) => costOf(used, prices));
  return {
    usage,
    inputTokens: total("inputTokens"),
    outputTokens: total("outputTokens"),
    cost:
      prices === undefined || costs.includes(null) ? null : costs.reduce<number>((a, b) => a + (b ?? 0), 0),
  };
}

function costOf(
  { model, inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 }: Usage,
  prices: Prices = {},
): number | null {
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  if (price === undefined) return null;
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const cost =
    inputTokens * input +
    cachedInputTokens * (cachedInput - input) +
    cacheWriteTokens * (cacheWrite - input) +
    outputTokens * output;
  return cost / 1_000_000;
}
