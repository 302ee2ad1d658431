/**
 * What a fork would do, before it is created.
 *
 * plan.1. Nothing is written and no work runs: the code is replayed over what the fork would inherit, to the end of replay.
 * plan.2. Reused work is computed by the same fold that the fork will use (lineage.ts).
 * plan.3. Beyond the end of replay the plan assumes what the parent recorded. Code that takes another path differs.
 * plan.4. A fork is not blocked by changed code if its plan is neither blocked nor unsure.
 */

import { callKind, isSettlement } from "../journal/kinds.ts";
import type { Definition } from "../engine/definition.ts";
import { replay } from "../runs/replay.ts";
import type { ReplayEnd } from "../engine/stop.ts";
import type { Entry } from "../journal/entry.ts";
import type { DurableError } from "../values/errors.ts";
import { forkOf, previewFork, type ForkOptions } from "../runs/fork.ts";
import type { Host } from "../runs/host.ts";
import type { RunJournal } from "../journal/journal.ts";
import { pathOf, stepAsked } from "../journal/keys.ts";
import { sortOf, turnKeys } from "../journal/turns.ts";
import type { Prices, Usage } from "../values/usage.ts";
import { spendOf, type Spend } from "./spend.ts";
import { definitionOf, openRun } from "../runs/lookup.ts";

/** What a fork would do, worked out by replay without running any step. */
export interface ForkPlan {
  /** The run that would be forked. */
  readonly parent: string;
  /**
   * In the order of the parent's journal; then calls that the parent has not made and the fork would make at
   * once.
   */
  readonly calls: readonly PlannedCall[];
  /** What the reused work used, and need not be spent again. */
  readonly saved: Spend;
  /** What the work used that would run again. */
  readonly atStake: Spend;
  /** Why the fork could not continue with the present code; `null` when it can. */
  readonly blocked: DurableError | null;
  /**
   * Recorded calls that the fork keeps, and that the code has not asked for before its new work. Only once that is over it
   * shows whether they fit the code.
   */
  readonly unsure: readonly string[];
}

/** One call of a planned fork. */
export interface PlannedCall {
  readonly key: string;
  /** The key in the parent, of a call that is named by its content, such as a turn of a model whose prompt was changed. */
  readonly was?: string;
  readonly kind: "step" | "stream" | "child" | "spawn" | "sleep" | "suspend";
  /**
   * `reused` and `edited` come from the journal; `runs` is work; `waits` is a sleep, or a suspend point with
   * a new token.
   */
  readonly what: "reused" | "edited" | "runs" | "waits";
  /** True for what the fork would do first; other work and waits follow, as they did in the parent. */
  readonly next: boolean;
  /** What the attempts of the parent used. */
  readonly usage: readonly Usage[];
}

/** Options of `run.plan`, besides those of `fork`. */
export interface PlanOptions {
  /** Adds costs to `saved` and `atStake`. */
  readonly prices?: Prices | undefined;
}

type Kind = PlannedCall["kind"];

export async function planFork(
  host: Host,
  definition: Definition,
  parent: RunJournal,
  { prices, ...options }: ForkOptions & PlanOptions,
): Promise<ForkPlan> {
  const fact = await forkOf(host, definition, parent, options);
  const fork = await previewFork(host, fact);
  const kept = new Set(fork.entries.filter(isSettlement).map(({ key }) => key));
  const edited = new Set(fact.edits.map(({ key }) => key));
  const next = new Map<string, Kind>();
  const recorded = recordedCalls(parent.entries);
  let unsure: readonly string[] = [];
  const stop = await replay(host, definition, fork, (end) => {
    const { calls } = end;
    if (!end.finished) unsure = unasked(end);
    const answered = new Set(end.replay.keptBy.values());
    for (const { key, kind, scope } of calls.all())
      if (!kept.has(key) && !answered.has(key) && !scope.closed) next.set(key, kind as Kind);
  });
  const used = usageByKey(parent.entries);
  const planned = (key: string, kind: Kind, was = key): PlannedCall => {
    const again = kind === "sleep" || kind === "suspend" ? "waits" : "runs";
    const what = !kept.has(key) ? again : edited.has(key) ? "edited" : "reused";
    const { usage } = spendOf(used.get(was) ?? []);
    return { key, ...(key === was ? {} : { was }), kind, what, next: next.has(key), usage };
  };
  const turns = new Set(turnKeys(parent.entries));
  const calls = [...recorded].map(([was, kind]) => {
    const isLeft = turns.has(was) && !kept.has(was) && !next.has(was);
    // In its branch, the first new call of a model is the first turn that is left, asked otherwise.
    const fits = (one: string): boolean => !recorded.has(one) && sortOf(one) === sortOf(was);
    const key = isLeft ? [...next.keys()].find(fits) : undefined;
    if (key === undefined) return planned(was, kind);
    recorded.set(key, kind);
    return planned(key, kind, was);
  });
  for (const [key, kind] of next) if (!recorded.has(key)) calls.push(planned(key, kind));
  const spent = (what: PlannedCall["what"]): Spend =>
    spendOf(
      calls.filter((call) => call.what === what).flatMap(({ usage }) => usage),
      prices,
    );
  return {
    parent: parent.runId,
    calls,
    saved: spent("reused"),
    atStake: spent("runs"),
    ...(stop.kind === "blocked" ? { blocked: stop.error, unsure: [] } : { blocked: null, unsure }),
  };
}

/** Recorded calls that the code has neither asked for nor passed. */
function unasked({ journal, calls, replay: records }: ReplayEnd): string[] {
  const past = new Map([...calls.all()].map(({ scope }) => [scope.path, scope.past]));
  const keys = new Set(journal.entries.map((entry) => ("key" in entry ? entry.key : "")));
  return [...keys].filter((key) => {
    const { seq = 0, after = -1 } = records.record(key) ?? {};
    const isAhead = seq > journal.loose && after >= (past.get(pathOf(key)) ?? -1);
    return isAhead && !records.isCalled(key) && !calls.isClosed(key);
  });
}

/** The recorded calls, in order. Questions about an uncertain step belong to the step and are left out. */
function recordedCalls(entries: readonly Entry[]): Map<string, Kind> {
  const kinds = new Map<string, Kind>();
  for (const entry of entries) {
    if (!("key" in entry) || stepAsked(entry.key) !== null) continue;
    const kind = callKind(entry);
    if (kind === "parallel" || kind === "race" || kind === "cleanup") continue;
    if (kind === "tag" || kind === "report") continue;
    if (!kinds.has(entry.key)) kinds.set(entry.key, kind);
  }
  return kinds;
}

/** What the attempts of each call used, by key. */
function usageByKey(entries: readonly Entry[]): Map<string, Usage[]> {
  const used = new Map<string, Usage[]>();
  for (const entry of entries)
    if ("usage" in entry && entry.usage !== undefined)
      used.set(entry.key, [...(used.get(entry.key) ?? []), ...entry.usage]);
  return used;
}

/** The plan of a fork of this run. */
export async function planRun(
  host: Host,
  runId: string,
  options: ForkOptions & PlanOptions,
): Promise<ForkPlan> {
  const parent = await openRun(host, runId, options.chapter);
  return planFork(host, definitionOf(host, parent), parent, options);
}
