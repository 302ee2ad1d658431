/** What attempts used, as their providers count it. Stored unencrypted beside the outcome, so that costs can be summed. */

import { DurableError, show } from "./errors.ts";
import type { Json } from "./codec/tags.ts";
import { assertOptions } from "./options.ts";

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
  /** For what, in sums of many calls; the `label` of the step by default, or else its name. */
  readonly label?: string | undefined;
  /**
   * What it cost, in the currency of the `prices` of the app, when it was recorded; missing when the price was not known. An
   * amount that is given is kept.
   */
  readonly cost?: number | undefined;
}

/**
 * What a model used on one day, for one label. A head has at most 32 rows: beyond them the label is `other`, and in the last row
 * the model is, too.
 */
export interface UsageRow extends Usage {
  /** In UTC: `2026-11-18`. */
  readonly day: string;
  /** The label of the step, or else its name, without its number. */
  readonly label: string;
}

/** What deleted runs of a workflow used of a model on one day. */
export interface SpentRow extends Usage {
  /** In UTC: `2026-11-18`. */
  readonly day: string;
  readonly workflow: string;
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
  return sumOver(usages, ["model", "provider"]);
}

/** Sums that no longer say for which label. */
export function sumSpent(rows: readonly SpentRow[]): SpentRow[] {
  return sumOver(rows, ["day", "workflow", "model", "provider"]) as SpentRow[];
}

/** What a run used, as it is kept once the run is gone. */
export function spentOf({ workflow, usage = [], eval: made }: Metered): SpentRow[] {
  return sumSpent(
    usage.map((row) => ({ ...row, workflow: made === undefined ? workflow : evalPrefix + made })),
  );
}

/** What evals used stands apart from what workflows used, also when their runs are gone. */
export const evalPrefix = "eval ";

interface Metered {
  readonly workflow: string;
  readonly eval?: string;
  readonly usage?: readonly UsageRow[];
}

/** One sum for each set of rows that agree in these fields. */
function sumOver(rows: readonly Usage[], fields: readonly (keyof SpentRow | "label")[]): Usage[] {
  const sums = new Map<string, Usage>();
  for (const row of rows) {
    const known = fields.map((name) => [name, (row as Partial<SpentRow>)[name]] as const);
    const named = Object.fromEntries(known.filter(([, value]) => value !== undefined));
    const id = JSON.stringify(known);
    sums.set(id, plus(sums.get(id) ?? ({ ...named, ...nothing } as unknown as Usage), row));
  }
  return [...sums.values()];
}

const nothing = { inputTokens: 0, outputTokens: 0, cost: 0 };

/** The first with the amounts of both. A cost that is known in part is not known. */
function plus<Sum extends Usage>(sum: Sum, { cost, ...usage }: Usage): Sum {
  const amounts = counts.flatMap((count) =>
    usage[count] === undefined ? [] : [[count, (sum[count] ?? 0) + usage[count]]],
  );
  const { cost: before, ...rest } = sum;
  const isKnown = before !== undefined && cost !== undefined;
  return { ...rest, ...Object.fromEntries(amounts), ...(isKnown && { cost: before + cost }) } as Sum;
}

/** The most rows of a head, and from how many on a new row has no label of its own. */
const most = { rows: 32, labels: 24 };
const other = "other";

/** The rows of a head with what an attempt used. */
export function addUsage(
  rows: readonly UsageRow[] = [],
  usages: readonly Usage[],
  { day, step }: { readonly day: string; readonly step: string },
): readonly UsageRow[] {
  const sums = [...rows];
  for (const usage of usages) {
    const { model, provider, label = step } = usage;
    const exact = { day, label, model, ...(provider === undefined ? {} : { provider }) };
    const coarser = [exact, { ...exact, label: other }, { day, label: other, model: other }];
    const room = sums.length < most.labels ? 1 : sums.length < most.rows - 1 ? 2 : 3;
    const fitting = coarser.slice(0, room);
    const places = fitting.map((row) => sums.findIndex((sum) => isSameRow(sum, row)));
    const at = places.find((place) => place >= 0) ?? sums.length;
    sums[at] = plus(sums[at] ?? ({ ...fitting.at(-1), ...nothing } as UsageRow), usage);
  }
  return sums;
}

/** The row of everything else has the day on which it began. */
function isSameRow(a: UsageRow, b: Pick<UsageRow, "day" | "label" | "model" | "provider">): boolean {
  const isSame = a.label === b.label && a.model === b.model && a.provider === b.provider;
  return isSame && (a.day === b.day || a.model === other);
}

/** The day of a time, in UTC. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** A wrong price would be recorded as a wrong cost. */
export function assertPrices(prices: Prices | undefined): void {
  for (const [model, price] of Object.entries(prices ?? {})) {
    assertOptions(price, "input output cachedInput cacheWrite", `The price of "${model}"`);
    const { input, output, cachedInput = 0, cacheWrite = 0 } = price;
    if (![input, output, cachedInput, cacheWrite].every((one) => Number.isFinite(one) && one >= 0))
      throw new DurableError(
        "invalid-options",
        `The price of "${model}" is invalid: ${show(price)}. Pass what a million tokens cost: { input: 2, output: 8 }.`,
      );
  }
}

/** The cost at these prices; `null` when the model has none. */
export function costOf(
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

/** The cost of all of them; `undefined` when that of one is not known. */
export function costOfAll(usages: readonly Usage[]): number | undefined {
  return usages.reduce<number | undefined>(
    (sum, { cost }) => (sum === undefined || cost === undefined ? undefined : sum + cost),
    0,
  );
}

/** The cost of a call that is limited by its cost, which must be known. */
export function knownCost(usage: Usage, prices: Prices | undefined, where: string): number {
  const cost = usage.cost ?? costOf(usage, prices);
  if (cost !== null) return cost;
  throw new DurableError(
    "invalid-options",
    `${where} is limited by its cost, and the price of ${show(usage.model)} is not known. Add it to createApp({ prices }).`,
  );
}

/** Sums what one attempt used, per model, and has what it asked. */
export class Meter {
  #used: readonly Usage[] = [];
  readonly #where: string;
  readonly #prices: Prices | undefined;
  readonly #label: string | undefined;
  /** What was asked, as entries keep it. */
  asked: { readonly prompt?: Json } = {};

  constructor(where: string, prices: Prices | undefined, label?: string) {
    this.#where = where;
    this.#prices = prices;
    this.#label = label;
  }

  readonly add = (usage: Usage): void => {
    const cost = usage.cost ?? costOf(usage, this.#prices) ?? undefined;
    const { label = this.#label } = usage;
    const one = { ...usage, cost, ...(label !== undefined && { label }) };
    const used = sumOver([...this.#used, one], ["model", "provider", "label"]);
    const fits =
      used.length <= mostModels &&
      [usage.model, usage.provider ?? "", label ?? ""].every(isName) &&
      usage.model !== "" &&
      counts.every((count) => isCount(usage[count] ?? 0)) &&
      (cost === undefined || (Number.isFinite(cost) && cost >= 0));
    if (!fits) {
      throw new DurableError(
        "invalid-options",
        `The usage of ${this.#where} is invalid. Pass meter() whole numbers of tokens, and a cost that is not negative, for at most ${mostModels} models with names of 1 to ${longestName} characters.`,
      );
    }
    this.#used = used;
  };

  /** The fields of an entry; absent when nothing was used or asked. */
  get noted(): Noted {
    return this.#used.length === 0 ? this.asked : { usage: this.#used, ...this.asked };
  }
}

/** What is recorded with the outcome of an attempt. */
export interface Noted {
  readonly usage?: readonly Usage[];
  readonly prompt?: Json;
}

function isName(name: unknown): boolean {
  return typeof name === "string" && name.length <= longestName;
}

function isCount(count: unknown): boolean {
  return Number.isSafeInteger(count) && (count as number) >= 0;
}
