/** What attempts used, as their providers count it: kept in clear beside the outcome, for whoever counts the cost. */

import { DurableError } from "./errors.ts";

export interface Usage {
  /** As the provider names it: `gpt-6-luna`. */
  readonly model: string;
  readonly provider?: string | undefined;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input tokens, those that were read from the provider's cache. */
  readonly cachedInputTokens?: number | undefined;
  /** Of the output tokens, those that nobody sees. */
  readonly reasoningTokens?: number | undefined;
}

/** How many models one attempt may use. */
const mostModels = 32;
const longestName = 200;
const counts = ["inputTokens", "outputTokens", "cachedInputTokens", "reasoningTokens"] as const;

/** Gathers what one attempt used: one sum per model. */
export class Meter {
  readonly #sums = new Map<string, Usage>();
  readonly #where: string;

  constructor(where: string) {
    this.#where = where;
  }

  add(usage: Usage): void {
    const { model, provider } = usage;
    const names = [model, provider ?? ""];
    const fits =
      model !== "" &&
      names.every((name) => typeof name === "string" && name.length <= longestName) &&
      counts.every((count) => Number.isSafeInteger(usage[count] ?? 0) && (usage[count] ?? 0) >= 0);
    const id = JSON.stringify(names);
    const known = this.#sums.get(id);
    if (!fits || (known === undefined && this.#sums.size >= mostModels)) {
      throw new DurableError(
        "invalid-options",
        `The usage of ${this.#where} names a model, and counts tokens in whole numbers; at most ${mostModels} models, with names of at most ${longestName} characters. Hand meter() what the provider reported.`,
      );
    }
    const sums = counts
      .filter((count) => (known?.[count] ?? usage[count]) !== undefined)
      .map((count) => [count, (known?.[count] ?? 0) + (usage[count] ?? 0)]);
    this.#sums.set(id, {
      model,
      ...(provider === undefined ? {} : { provider }),
      ...Object.fromEntries(sums),
    } as Usage);
  }

  /** As entries hold it: nothing, where nothing was used. */
  get noted(): { readonly usage?: readonly Usage[] } {
    return this.#sums.size === 0 ? {} : { usage: [...this.#sums.values()] };
  }
}
