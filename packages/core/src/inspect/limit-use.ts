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

/** How much of one limit of a quota is used. Of a quota with keys, that of the key which uses most. */
export interface QuotaUse {
  readonly quota: string;
  readonly what: "requests" | "tokens" | "cost" | "concurrent";
  readonly used: number;
  readonly most: number;
  /** What was used in each of 20 parts of the window, up to now, the oldest first; empty for `concurrent`. */
  readonly over: readonly number[];
}

const overParts = 20;

/** The use of the quotas that an app declares, within their windows now; none where the storage has no limits. */
export async function quotaUseOf({ limits }: Storage, quotas: Quotas): Promise<QuotaUse[]> {
  if (limits === undefined || Object.keys(quotas).length === 0) return [];
  const [texts, { now }] = await Promise.all([limits.texts("quota "), limits.read("quota ")]);
  const used = texts.map(({ name, value }) => {
    const [window, ends] = listOf(parsed(value));
    const calls = Object.values(Object(ends) as object).filter((until) => until > now).length;
    const written = name.slice("quota ".length);
    const parts = parsed(written);
    const [requests = 0, tokens = 0, cost = 0] = sumsOf(window, now) ?? [];
    const amounts = { requests, tokens, cost, concurrent: calls };
    return { quota: isTexts(parts) ? parts[0] : written, amounts, window };
  });
  return Object.entries(quotas).flatMap(([quota, options]) =>
    (["requests", "tokens", "cost", "concurrent"] as const).flatMap((what) => {
      const most = options[what];
      if (most === undefined) return [];
      const [top] = used
        .filter((one) => one.quota === quota)
        .toSorted((a, b) => b.amounts[what] - a.amounts[what]);
      const over = top === undefined || what === "concurrent" ? [] : overOf(top.window, what, now);
      return [{ quota, what, used: top?.amounts[what] ?? 0, most, over }];
    }),
  );
}

type Quotas = Readonly<Record<string, Partial<Record<QuotaUse["what"], number | undefined>>>>;

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
 * The amounts of a window, as runs/window.ts writes it: its length, turns, then the beginning of each part and its amounts. Parts
 * that have left it at a time are left out. `null` for any other text.
 */
function sumsOf(text: unknown, now = -Infinity): number[] | null {
  const window = windowIn(text, now);
  if (window === null) return null;
  const total: number[] = [];
  for (const [, ...amounts] of window.parts)
    for (const [n, amount] of amounts.entries()) total[n] = (total[n] ?? 0) + amount;
  return total;
}

interface Window {
  readonly perMs: number;
  readonly parts: readonly (readonly number[])[];
}

function windowIn(text: unknown, now: number): Window | null {
  const [perMs, , , free, ...parts] = listOf(parsed(String(text)));
  const isWindow = typeof perMs === "number" && Array.isArray(free);
  if (!isWindow || !parts.every(isNumbers)) return null;
  return { perMs, parts: parts.filter(([at = 0]) => at + perMs * 1.01 > now) };
}

/** One amount of a window, over its time. */
function overOf(text: unknown, what: "requests" | "tokens" | "cost", now: number): number[] {
  const over = new Array<number>(overParts).fill(0);
  const { perMs = 1, parts = [] } = windowIn(text, now) ?? {};
  for (const [at = 0, ...amounts] of parts) {
    const part = Math.floor(((at - now + perMs) / perMs) * overParts);
    const n = Math.min(overParts - 1, Math.max(0, part));
    over[n] = (over[n] ?? 0) + (amounts[["requests", "tokens", "cost"].indexOf(what)] ?? 0);
  }
  return over;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((one) => typeof one === "number");
}
