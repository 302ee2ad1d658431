/**
 * What usage costs: sums of tokens, and their price where prices are given.
 *
 * Sums over runs are made from heads, and from what the storage kept of deleted runs: no journal is read. Usage that was
 * recorded with a cost keeps it. Other usage is priced as the app prices it today, and a sum with usage that has no price has
 * no cost.
 */

import type { ListPage, RunHead, Storage } from "../ports/storage.ts";
import type { Host } from "../runs/host.ts";
import { DurableError, show } from "../values/errors.ts";
import { atOnce } from "../values/limits.ts";
import { assertOptions } from "../values/options.ts";
import {
  costOf,
  evalPrefix,
  sumUsage,
  type Prices,
  type SpentRow,
  type Usage,
  type UsageRow,
} from "../values/usage.ts";

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

const groupings = ["day", "model", "workflow", "label", "tag"] as const;

/** Options of `app.spend`. */
export interface SpendOptions {
  /**
   * One row per UTC day, model, workflow, label (the name of the step, tool or agent), or tag (`name=value`). A run with two
   * tags is in two rows.
   */
  readonly by: (typeof groupings)[number];
  /** Only days that end after this time. */
  readonly since?: Date | undefined;
  /** Only days that begin before this time. */
  readonly until?: Date | undefined;
  /** Only what this eval used, or any with `true`. Without it, sums leave evals out. */
  readonly eval?: string | true | undefined;
}

/** One row of `app.spend`. */
export interface SpendRow extends Spend {
  /**
   * The day, the model, the workflow, the label or the tag. Of runs that were deleted, label and tag are `purged`; runs without
   * a tag are in the row with the empty key.
   */
  readonly key: string;
}

/** What the runs of a storage have used. */
export interface Spending extends Spend {
  /** Days in their order; otherwise what cost most first, and then what used most tokens. */
  readonly rows: readonly SpendRow[];
  /** False where the storage forgets what deleted runs used (buckets). */
  readonly keepsPurged: boolean;
}

type Used = (UsageRow | SpentRow) & { readonly workflow: string };

/** Sums what all runs have used, those that were deleted included. */
export async function spendBy(host: Host, options: SpendOptions): Promise<Spending> {
  assertOptions(options, "by since until eval", "app.spend");
  const { by } = options;
  if (!groupings.includes(by))
    throw new DurableError(
      "invalid-options",
      `app.spend got by: ${show(by)}. Use ${groupings.map(show).join(", ")}.`,
    );
  const [since, until] = [timeOf(options, "since") ?? -Infinity, timeOf(options, "until") ?? Infinity];
  const sums = new Map<string, Usage[]>();
  const all: Usage[] = [];
  const add = (row: Used, keys: readonly string[]): void => {
    const from = Date.parse(row.day);
    if (from >= until || from + dayMs <= since) return;
    const { model, provider, day: _, workflow: __, ...counted } = row;
    const cost = row.cost ?? costOf(row, host.options.prices) ?? undefined;
    const used = { ...counted, model, ...(provider !== undefined && { provider }), cost };
    for (const key of keys) sums.set(key, sumUsage([...(sums.get(key) ?? []), used]));
    all.splice(0, all.length, ...sumUsage([...all, used]));
  };
  const storage = await host.storage();
  const fits = (made: string | undefined): boolean =>
    options.eval === true ? made !== undefined : made === options.eval;
  for await (const head of heads(storage, until))
    if (fits(head.eval))
      for (const row of head.usage ?? []) add({ ...row, workflow: head.workflow }, keysOf(by, head, row));
  for (const row of (await storage.spent?.()) ?? [])
    if (fits(evalOf(row))) add(row, [by === "label" || by === "tag" ? "purged" : row[by]]);
  const rows = [...sums].map(([key, usage]) => ({ key, ...spendOf(usage) }));
  return { ...spendOf(all), rows: ordered(rows, by), keepsPurged: storage.spent !== undefined };
}

/** False for runs of evals, which sums leave out. */
export function isOfProduction({ eval: made }: Pick<RunHead, "eval">): boolean {
  return made === undefined;
}

/** The eval whose deleted runs a row sums. */
export function evalOf({ workflow }: SpentRow): string | undefined {
  return workflow.startsWith(evalPrefix) ? workflow.slice(evalPrefix.length) : undefined;
}

const dayMs = 86_400_000;

function timeOf(options: SpendOptions, name: "since" | "until"): number | undefined {
  const time = options[name];
  if (time === undefined) return undefined;
  if (time instanceof Date && !Number.isNaN(time.getTime())) return time.getTime();
  throw new DurableError("invalid-options", `app.spend got ${name}: ${show(time)}. Pass a Date.`);
}

async function* heads(storage: Storage, until: number): AsyncGenerator<RunHead> {
  const older = storage.finds === true && until !== Infinity ? { createdBefore: until } : {};
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: ListPage = await storage.list({ ...older, limit: atOnce.listed, cursor });
    yield* page.runs;
    cursor = page.next;
  }
}

function keysOf(by: SpendOptions["by"], { workflow, tags = {} }: RunHead, row: UsageRow): readonly string[] {
  if (by === "workflow") return [workflow];
  if (by !== "tag") return [row[by]];
  const named = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
  return named.length === 0 ? [""] : named;
}

function ordered(rows: readonly SpendRow[], by: SpendOptions["by"]): SpendRow[] {
  if (by === "day") return rows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const tokens = ({ inputTokens, outputTokens }: SpendRow): number => inputTokens + outputTokens;
  return rows.toSorted((a, b) => (b.cost ?? -1) - (a.cost ?? -1) || tokens(b) - tokens(a));
}
