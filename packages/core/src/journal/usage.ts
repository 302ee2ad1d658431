/** What attempts used, as their providers count it. Stored unencrypted beside the outcome, so that costs can be summed. */

import { DurableError } from "../values/errors.ts";

/** The tokens that an attempt used, as the provider counts them. Stored unencrypted beside the outcome. */
export interface Usage {
  /** The model as the provider names it: `gpt-6-luna`. */
  readonly model: string;
  readonly provider?: string | undefined;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input tokens that were read from the cache of the provider. */
  readonly cachedInputTokens?: number | undefined;
  /** Input tokens that were written to the cache of the provider. */
  readonly cacheWriteTokens?: number | undefined;
  /** Output tokens that are not part of the visible answer. */
  readonly reasoningTokens?: number | undefined;
}

/** How many models one attempt may use. */
const mostModels = 32;
const longestName = 200;
const counts = [
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "reasoningTokens",
] as const;

/** One sum per model and provider, of the known fields. */
export function sumUsage(usages: readonly Usage[]): Usage[] {
  const sums = new Map<string, Usage>();
  for (const usage of usages) {
    const { model, provider } = usage;
    const id = JSON.stringify([model, provider]);
    const sum = sums.get(id) ?? ({ model, ...(provider === undefined ? {} : { provider }) } as Usage);
    const added = counts.flatMap((count) =>
      usage[count] === undefined ? [] : [[count, (sum[count] ?? 0) + usage[count]]],
    );
    sums.set(id, { ...sum, ...Object.fromEntries(added) });
  }
  return [...sums.values()];
}

/** Sums what one attempt used, per model. */
export class Meter {
  #used: readonly Usage[] = [];
  readonly #where: string;

  constructor(where: string) {
    this.#where = where;
  }

  add(usage: Usage): void {
    const used = sumUsage([...this.#used, usage]);
    const fits =
      used.length <= mostModels &&
      [usage.model, usage.provider ?? ""].every(isName) &&
      usage.model !== "" &&
      counts.every((count) => isCount(usage[count] ?? 0));
    if (!fits) {
      throw new DurableError(
        "invalid-options",
        `The usage of ${this.#where} is invalid. Pass meter() whole numbers of tokens, for at most ${mostModels} models with names of 1 to ${longestName} characters.`,
      );
    }
    this.#used = used;
  }

  /** The field of an entry; absent when nothing was used. */
  get noted(): { readonly usage?: readonly Usage[] } {
    return this.#used.length === 0 ? {} : { usage: this.#used };
  }
}

function isName(name: unknown): boolean {
  return typeof name === "string" && name.length <= longestName;
}

function isCount(count: unknown): boolean {
  return Number.isSafeInteger(count) && (count as number) >= 0;
}
