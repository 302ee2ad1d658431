/**
 * What a run used, from the entries of its journal.
 *
 * U1. Calls whose bill is unknown are counted and never estimated: streams that were cut off, and attempts that failed
 *     without a response of the provider.
 *
 * Proven in test/usage.test.ts.
 */

import type { Usage } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { assertOptions } from "@durable/core/storage";
import { spendOf, type Prices, type Spend } from "@durable/core/inspect";
import { partsOf, type PartChunk } from "./chunks.ts";
import { headType } from "./stream-output.ts";

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

/** A sum of usage, and what is missing in it. */
export interface CallSpend extends Spend {
  /**
   * Calls whose usage is unknown, and not part of the sum, because their stream was cut off or they failed without a
   * response: the provider may bill for them.
   */
  readonly unknown: number;
}

/** What one step or stream used in all attempts. */
export interface StepUsage extends CallSpend {
  readonly key: string;
  /** True when it was recorded before, and came from the journal. */
  readonly replayed: boolean;
}

/** What a run used. */
export interface RunUsage {
  /** Steps that used tokens, in the order in which they ended. */
  readonly steps: readonly StepUsage[];
  /** The sum of all steps. */
  readonly total: CallSpend;
  /** What was used since `before`. */
  readonly paid: CallSpend;
  /** What would have been used again without a journal. */
  readonly saved: Spend;
}

/**
 * Tokens and costs per step and for the whole run: `usageOf(await run.entries({ struck: true }), { prices })`. With `struck`,
 * attempts before a retry of the run count, too: they were paid for.
 */
export function usageOf(entries: readonly Entry[], options: UsageOptions = {}): RunUsage {
  assertOptions(options, "prices before", "usageOf");
  const { prices, before = 0 } = options;
  const used = new Map<string, { usage: Usage[]; replayed: boolean; unknown: number }>();
  const [paid, saved]: [Usage[], Usage[]] = [[], []];
  const unknown = unknownIn(entries);
  let unknownPaid = 0;
  for (const [index, entry] of entries.entries()) {
    const usage = "usage" in entry ? entry.usage : undefined;
    if (!("key" in entry) || (usage === undefined && !unknown.has(index))) continue;
    const step = used.get(entry.key) ?? { usage: [], replayed: false, unknown: 0 };
    // Moved to the end, because steps are listed in the order of their ends.
    used.delete(entry.key);
    used.set(entry.key, step);
    if (unknown.has(index)) {
      step.unknown += 1;
      if (index >= before) unknownPaid += 1;
    }
    if (usage === undefined) continue;
    step.usage.push(...usage);
    if (index >= before) paid.push(...usage);
    // A replay does not repeat a failed attempt, so it saves nothing.
    else if (entry.kind.endsWith(".completed")) {
      step.replayed = true;
      saved.push(...usage);
    }
  }
  const spend = (usages: readonly Usage[]): Spend => spendOf(usages, prices);
  const all = [...used.values()];
  return {
    steps: [...used].map(([key, { usage, ...others }]) => ({ key, ...others, ...spend(usage) })),
    total: { ...spend(all.flatMap(({ usage }) => usage)), unknown: unknown.size },
    paid: { ...spend(paid), unknown: unknownPaid },
    saved: spend(saved),
  };
}

type Called = Extract<Entry, { readonly key: string; readonly attempt: number }>;

/** The last entry of each attempt whose bill is unknown, by index. */
function unknownIn(entries: readonly Entry[]): Set<number> {
  const attempts = new Map<string, { last: number; open: boolean }>();
  const models = new Set<string>();
  // After a retry of the run a step counts its attempts from 1 again, and a stream counts on.
  const streams = new Set(entries.flatMap((entry) => (entry.kind === "stream.chunks" ? [entry.key] : [])));
  for (const [index, entry] of entries.entries()) {
    if (!("attempt" in entry)) continue;
    if (isModelCall(entry)) models.add(entry.key);
    const life = streams.has(entry.key) ? 0 : (entry.struck ?? 0);
    const attempt = JSON.stringify([entry.key, entry.attempt, life]);
    attempts.set(attempt, { last: index, open: isOpen(entry) });
  }
  const unknown = [...attempts.values()].filter(({ last, open }) => {
    const entry = entries[last] as Called;
    return open && models.has(entry.key);
  });
  return new Set(unknown.map(({ last }) => last));
}

/** How calls of a model are named that have no key of their own. */
const modelName = /(?:^|\/)(?:generate|stream|embed|rerank) [0-9a-z]{8,}(?:#\d+)?$/;

function isModelCall(entry: Called): boolean {
  if ("usage" in entry && entry.usage !== undefined) return true;
  if (modelName.test(entry.key)) return true;
  // Streams of a model begin with a part of this library.
  if (entry.kind !== "stream.chunks" || entry.from !== 0) return false;
  const [first] = entry.chunks as unknown as readonly PartChunk[];
  return Array.isArray(first) && partsOf(first)[0]?.type === headType;
}

/** True when this entry, as the last of its attempt, leaves open what the attempt cost. */
function isOpen(entry: Called): boolean {
  if ("usage" in entry && entry.usage !== undefined) return false;
  if (entry.kind === "step.completed") return false;
  return !("error" in entry && refused(entry.error));
}

/** Codes of connections that were never made. */
const unreached: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** True for an error that a provider does not bill: it answered with a status, or was not reached. */
function refused(error: unknown, depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > 8) return false;
  const { statusCode, code, cause } = error as Readonly<Record<"statusCode" | "code" | "cause", unknown>>;
  if (typeof statusCode === "number") return statusCode >= 400;
  return unreached.has(code) || refused(cause, depth + 1);
}
