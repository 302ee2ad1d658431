/** How much of the limits of a storage is used, for tools. Proven in test/inspect/limit-use.test.ts. */

import type { SlotUse, Storage } from "../ports/storage.ts";
import { isTexts, parsed } from "../values/shown.ts";

/** How much of a rate or of a quota is used. */
export interface WindowUse {
  /** `rate` of a workflow and key, or `quota` of steps. */
  readonly kind: "rate" | "quota";
  readonly name: string;
  /** Runs or requests within the window in which it was used last. */
  readonly used: number;
  /** Tokens within that window; 0 for rates. */
  readonly tokens: number;
  /** What was spent within that window; 0 for rates. */
  readonly cost: number;
  /** Calls under way; 0 for rates. */
  readonly calls: number;
  /** True when its text cannot be read; then all else is 0. */
  readonly damaged?: true;
}

/** What `limitUse` finds. */
export interface LimitUse {
  /** Slots of `concurrency` that are taken, and runs that wait for one, by workflow and key. */
  readonly slots: readonly SlotUse[];
  /** Rates and quotas. */
  readonly windows: readonly WindowUse[];
}

/** The current use of each limit of a storage: taken, used and waiting; `null` where the storage has no limits. */
export async function limitUse({ limits }: Storage): Promise<LimitUse | null> {
  if (limits === undefined) return null;
  const [slots, steps, rates, { now }] = await Promise.all([
    limits.slots(),
    limits.texts("quota "),
    limits.texts("rate "),
    limits.read("quota "),
  ]);
  return {
    slots,
    windows: [
      ...steps.map(({ name, value }) => quotaOf(name.slice("quota ".length), value, now)),
      ...rates.map(({ name, value }) => rateOf(name.slice("rate ".length), value)),
    ],
  };
}

/** As runs/permits.ts writes it: the text of a window, then the calls under way, under a name, or a name and a key. */
function quotaOf(written: string, text: string, now: number): WindowUse {
  const parts = parsed(written);
  const name = isTexts(parts) ? parts.join(" ") : written;
  const [window, ends] = listOf(parsed(text));
  const amounts = sumsOf(window);
  if (amounts === null) return damaged("quota", name);
  const [used = 0, tokens = 0, cost = 0] = amounts;
  const calls = Object.values(Object(ends) as object).filter((until) => until > now).length;
  return { kind: "quota", name, used, tokens: Math.round(tokens), cost, calls };
}

/** As runs/rate.ts writes it: the text of a window, under a workflow and a key. */
function rateOf(name: string, text: string): WindowUse {
  const parts = parsed(name);
  const named = isTexts(parts) ? parts.filter((part) => part !== "").join(" ") : name;
  const amounts = isTexts(parts) ? sumsOf(text) : null;
  if (amounts === null) return damaged("rate", named);
  return { kind: "rate", name: named, used: amounts[0] ?? 0, tokens: 0, cost: 0, calls: 0 };
}

function damaged(kind: WindowUse["kind"], name: string): WindowUse {
  return { kind, name, used: 0, tokens: 0, cost: 0, calls: 0, damaged: true };
}

/**
 * The amounts of a window, as runs/window.ts writes it: its length, turns, then the beginning of each part and its amounts. `null`
 * for any other text.
 */
function sumsOf(text: unknown): number[] | null {
  const [perMs, , , free, ...parts] = listOf(parsed(String(text)));
  const isWindow = typeof perMs === "number" && Array.isArray(free);
  if (!isWindow || !parts.every(isNumbers)) return null;
  const total: number[] = [];
  for (const [, ...amounts] of parts)
    for (const [n, amount] of amounts.entries()) total[n] = (total[n] ?? 0) + amount;
  return total;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((one) => typeof one === "number");
}
