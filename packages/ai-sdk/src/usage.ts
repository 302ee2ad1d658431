/** What a run used, from the entries of its journal. */

import { spendOf, type Entry, type Prices, type Spend, type Usage } from "@durable/core";

/** Options of `usageOf`. */
export interface UsageOptions {
  /** Prices of a million tokens, by model. Without them there are tokens and no costs. */
  readonly prices?: Prices | undefined;
  /**
   * How many entries there were when this process took over the run: what they hold was replayed, and not
   * paid for again.
   */
  readonly before?: number | undefined;
}

/** What one step or stream used in all attempts. */
export interface StepUsage extends Spend {
  readonly key: string;
  /** True when it was recorded before, and came from the journal. */
  readonly replayed: boolean;
}

/** What a run used. */
export interface RunUsage {
  /** Steps that used tokens, in the order in which they ended. */
  readonly steps: readonly StepUsage[];
  /** The sum of all steps. */
  readonly total: Spend;
  /** What was used since `before`. */
  readonly paid: Spend;
  /** What would have been used again without a journal. */
  readonly saved: Spend;
}

/** Tokens and costs per step and for the whole run: `usageOf(await run.entries(), { prices })`. */
export function usageOf(entries: readonly Entry[], { prices, before = 0 }: UsageOptions = {}): RunUsage {
  const used = new Map<string, { usage: Usage[]; replayed: boolean }>();
  const [paid, saved]: [Usage[], Usage[]] = [[], []];
  for (const [index, entry] of entries.entries()) {
    if (!("usage" in entry) || entry.usage === undefined) continue;
    const step = used.get(entry.key) ?? { usage: [], replayed: false };
    // Moved to the end, because steps are listed in the order of their ends.
    used.delete(entry.key);
    used.set(entry.key, step);
    step.usage.push(...entry.usage);
    if (index >= before) paid.push(...entry.usage);
    // A replay does not repeat a failed attempt, so it saves nothing.
    else if (entry.kind.endsWith(".completed")) {
      step.replayed = true;
      saved.push(...entry.usage);
    }
  }
  const spend = (usages: readonly Usage[]): Spend => spendOf(usages, prices);
  const steps = [...used].map(([key, { usage, replayed }]) => ({ key, replayed, ...spend(usage) }));
  return {
    steps,
    total: spend([...used.values()].flatMap(({ usage }) => usage)),
    paid: spend(paid),
    saved: spend(saved),
  };
}
