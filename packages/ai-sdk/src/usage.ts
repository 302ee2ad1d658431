/**
 * What runs used, from the entries of their journals.
 *
 * U1. Calls whose bill is unknown are counted and never estimated: streams that were cut off, attempts that failed without
 *     a response of the provider, and answers without usage, such as speech.
 * U2. Every token is counted for one run: what a fork inherited was paid by the run it was forked from, and stands apart. Earlier
 *     chapters of a run count by their sums.
 *
 * Proven in test/usage.test.ts and test/usage-of-many.test.ts.
 */

import { DurableError, type App, type Usage } from "@durable/core";
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
  /** Steps that used tokens, in the order in which they ended, without those that a fork inherited. */
  readonly steps: readonly StepUsage[];
  /** The sum of all steps, and of earlier chapters. */
  readonly total: CallSpend;
  /** The part of a fork that the run paid for which it was forked from; not in `total`. */
  readonly inherited: CallSpend;
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
  const [paid, saved, inherited]: Usage[][] = [[], [], []] as const satisfies Usage[][];
  const unknown = unknownIn(entries);
  const base = baseOf(entries);
  const earlier = earlierIn(entries);
  let [unknownPaid, unknownInherited] = [0, 0];
  for (const [index, entry] of entries.entries()) {
    const usage = "usage" in entry ? entry.usage : undefined;
    if (!("key" in entry) || (usage === undefined && !unknown.has(index))) continue;
    if (entry.seq < base) {
      inherited.push(...(usage ?? []));
      if (unknown.has(index)) unknownInherited += 1;
      continue;
    }
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
    total: {
      ...spend([...earlier.usage, ...all.flatMap(({ usage }) => usage)]),
      unknown: unknown.size - unknownInherited,
    },
    inherited: { ...spend([...earlier.inherited, ...inherited]), unknown: unknownInherited },
    paid: { ...spend(paid), unknown: unknownPaid },
    saved: spend(saved),
  };
}

/** Options of `usageOfFamily`. */
export type FamilyUsageOptions = Pick<UsageOptions, "prices">;

/** What several runs used. */
export interface ManyUsage {
  /** Each run with its own usage. */
  readonly runs: readonly (RunUsage & { readonly runId: string })[];
  /** The sum of all runs: every token once. */
  readonly total: CallSpend;
  /** Runs that are no longer stored, so that their usage is not in the sum. */
  readonly missing: readonly string[];
}

/**
 * Tokens and costs of a run, and of the children and spawned runs that it has begun, and theirs: `await usageOfFamily(app, runId)`.
 * Forks are runs of their own, and not part of the family.
 */
export async function usageOfFamily(
  app: App,
  runId: string,
  options: FamilyUsageOptions = {},
): Promise<ManyUsage> {
  assertOptions(options, "prices", "usageOfFamily");
  return usageOfMany(app, [runId], childrenIn, options);
}

/** The runs that this one has begun itself. */
export function childrenIn(entries: readonly Entry[]): readonly string[] {
  const base = baseOf(entries);
  return entries.flatMap((entry) =>
    (entry.kind === "child.opened" || entry.kind === "spawn.opened") && entry.seq >= base
      ? [entry.child]
      : [],
  );
}

/** These runs, each once, and those that `more` finds in their entries. */
export async function usageOfMany(
  app: App,
  runIds: readonly string[],
  more: (entries: readonly Entry[]) => readonly string[],
  { prices }: FamilyUsageOptions,
): Promise<ManyUsage> {
  const runs: (RunUsage & { readonly runId: string })[] = [];
  const missing: string[] = [];
  const asked = new Set(runIds);
  // Grows while it is walked.
  for (const runId of asked) {
    const entries = await entriesOf(app, runId);
    if (entries === null) {
      missing.push(runId);
      continue;
    }
    for (const id of more(entries)) asked.add(id);
    runs.push({ runId, ...usageOf(entries, { prices }) });
  }
  const unknown = runs.reduce((sum, { total }) => sum + total.unknown, 0);
  return {
    runs,
    missing,
    total: {
      ...spendOf(
        runs.flatMap(({ total }) => total.usage),
        prices,
      ),
      unknown,
    },
  };
}

/** With attempts that a retry of the run took back; `null` when there is no such run. */
async function entriesOf(app: App, runId: string): Promise<Entry[] | null> {
  try {
    return await app.get(runId).entries({ struck: true });
  } catch (error) {
    if (DurableError.is(error, "not-found")) return null;
    throw error;
  }
}

/** Entries of a fork before this position are those of the run it was forked from. */
function baseOf(entries: readonly Entry[]): number {
  return Math.max(0, ...entries.map((entry) => (entry.kind === "run.forked" ? entry.base : 0)));
}

/** The sums of earlier chapters. */
function earlierIn(entries: readonly Entry[]): { usage: readonly Usage[]; inherited: readonly Usage[] } {
  const first = entries.find((entry) => entry.kind === "run.continued");
  const { usage = [], inherited = [] } = first?.head ?? {};
  return { usage, inherited };
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
  if (entry.kind === "step.completed") return isMedia(entry.value);
  // Streams of a model begin with a part of this library.
  if (entry.kind !== "stream.chunks" || entry.from !== 0) return false;
  const [first] = entry.chunks as unknown as readonly PartChunk[];
  return Array.isArray(first) && partsOf(first)[0]?.type === headType;
}

/** A result of speech, transcription, images, embeddings or a ranking, whatever the name of its step. */
function isMedia(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("warnings" in value)) return false;
  return ["audio", "segments", "images", "embeddings", "ranking"].some((field) => field in value);
}

/** True when this entry, as the last of its attempt, leaves open what the attempt cost. */
function isOpen(entry: Called): boolean {
  if ("usage" in entry && entry.usage !== undefined) return false;
  // A kept answer was paid for under its old name.
  if ("kept" in entry && entry.kept !== undefined) return false;
  if (entry.kind === "step.completed") return modelName.test(entry.key) || isMedia(entry.value);
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
