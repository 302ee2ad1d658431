/**
 * What people see of a run: pure functions from its entries, for the command line, the dashboard and reports. They
 * need neither the code of the workflow nor a secret.
 *
 * view.1. Status and open waits come from the fold that the engine uses (fold.ts), so no screen disagrees with it.
 * view.2. The entries are those of `run.entries({ struck: true })`: one chapter, inherited entries first, values decoded.
 * view.3. Struck entries are shown with the retry that struck them, and count in every sum. They change no status and no
 *     wait. Entries that were read without `struck` lack them, and so do the sums.
 */

import { inputIn, isBeginning, traitsOf } from "../journal/kinds.ts";
import type { ChildOf, Entry, Leftovers } from "../journal/entry.ts";
import { RunState } from "../journal/fold.ts";
import { nameOf } from "../journal/keys.ts";
import { turnKeys } from "../journal/turns.ts";
import type { RunEntry } from "../journal/outcome.ts";
import type { BlockedNote, RunHead, RunStatus } from "../ports/storage.ts";
import { busyMs } from "./axis.ts";
import { lineage, type Lineage } from "./diff.ts";
import type { Doing } from "../runs/under-way.ts";
import type { AttemptView, RowView } from "./row.ts";
import { isContainer, rowsOf, type RowOptions } from "./rows.ts";
import type { Prices } from "../values/usage.ts";
import { scoresIn, type ScoreView } from "./scores.ts";
import { spendOf, type Spend } from "./spend.ts";

export { busyMs, foldGaps, positionOn, type Axis, type AxisPart, type FoldOptions } from "./axis.ts";
export { plain, type Plain, type PlainOptions } from "./plain.ts";
export { locatorOf } from "../journal/keys.ts";
export type { AttemptView, RowKind, RowStatus, RowView } from "./row.ts";

/** An open suspend point, without its token. */
export interface WaitView {
  readonly key: string;
  readonly name: string;
  /** The id of the wait in its token. */
  readonly wait: string;
  readonly openedAt: number;
  readonly expiresAt: number | null;
  readonly note: unknown;
  /** JSON Schema of the answer; `null` when the wait has none. */
  readonly schema: unknown;
  /** True when an answer was recorded that no driver has judged yet. */
  readonly answered: boolean;
  /** It waits for a message of this topic, and not for an answer. */
  readonly topic?: string;
}

/** A retry of the run, and what it struck. */
export interface RetryView {
  /** The position of its entry. */
  readonly seq: number;
  readonly at: number;
  /** The error that the run had ended with, or the reason of the cancel. */
  readonly error?: unknown;
  /** The calls that began anew, as they were. All are at the top, whatever group they are in. */
  readonly rows: readonly RowView[];
}

/** Sums over the rows of a run, with those that a retry struck. */
export interface RunTotals {
  /** Steps, streams and children that have settled. */
  readonly settled: number;
  /** How many of the settled ones a fork inherited. */
  readonly fromJournal: number;
  /** Attempts that ran here. */
  readonly attempts: number;
  /** Attempts that failed here. */
  readonly failedAttempts: number;
  /** How long any attempt ran here, in milliseconds. Attempts at the same time count once. */
  readonly busyMs: number;
  /** The same for inherited work. */
  readonly reusedMs: number;
  /** What the attempts used here. */
  readonly spent: Spend;
  /** What the inherited work used: it was not paid for again. */
  readonly reused: Spend;
}

/** What people see of a run. */
export interface RunView {
  readonly runId: string;
  /** Empty for a journal without a workflow. */
  readonly workflow: string;
  readonly version: string | null;
  readonly chapter: number;
  readonly status: RunStatus;
  /** True when the run is parked, and only time is needed to continue it. */
  readonly sleeping: boolean;
  readonly startedAt: number;
  /** `null` until the run has ended. */
  readonly endedAt: number | null;
  readonly updatedAt: number;
  /** The next deadline of a parked run; `null` when it waits without one, or is not parked. */
  readonly wakeAt: number | null;
  /** When the run fails, unless it has ended before. */
  readonly deadline: number | null;
  /** Since when the run is paused, and why. */
  readonly paused: { readonly since: number; readonly reason: unknown } | null;
  /** Missing for a fork that keeps the input of its parent. */
  readonly input?: unknown;
  /** The output of a completed run. */
  readonly output?: unknown;
  /** The error of a failed run, or the reason of a cancelled one. */
  readonly error?: unknown;
  /** How and since when the run undoes what it did, before it ends; `null` when it has ended, or undoes nothing. */
  readonly undoing: UndoingView | null;
  /** Why the run cannot continue, if its head says so. */
  readonly blocked: BlockedNote | null;
  /** Where the run comes from; `null` if the entries lack the first one. */
  readonly lineage: Lineage | null;
  /** The run whose child this is. */
  readonly childOf: ChildOf | null;
  readonly waits: readonly WaitView[];
  /** Calls, groups and branches: parents before their children, in the order in which they began. */
  readonly rows: readonly RowView[];
  /** In order; empty for a run that was never retried. */
  readonly retries: readonly RetryView[];
  /** What people and checks thought of the run. */
  readonly scores: readonly ScoreView[];
  /** What the storage has lost of the run, in order; empty for nearly every run. */
  readonly losses: readonly LossView[];
  readonly totals: RunTotals;
  /** Calls that were left at the end: see `Outcome`. */
  readonly orphans: readonly string[];
  readonly abandoned: readonly string[];
  readonly unawaited: readonly string[];
  /** Steps whose compensation failed. */
  readonly uncompensated: readonly string[];
}

/** The storage lost the last batches of the run, and it went on from what was left. */
export interface LossView {
  readonly seq: number;
  readonly at: number;
  /** How many batches there had been. */
  readonly from: number;
  /** How many were left. */
  readonly to: number;
  /** Steps that had begun, and whose outcome is asked for. */
  readonly steps: readonly string[];
}

/** A run that undoes what it did. */
export interface UndoingView {
  /** The status that the run will end with. */
  readonly status: "failed" | "cancelled";
  readonly since: number;
  /** The error of the run, or the reason of the cancel. */
  readonly error: unknown;
}

/** Options of `viewRun`. */
export interface ViewOptions {
  /** The head of the run in a list. Only it knows that a run is blocked. */
  readonly head?: RunHead | undefined;
  /** Why the run is blocked, where it is known without its head. */
  readonly blocked?: BlockedNote | undefined;
  /** Adds costs to the sums. */
  readonly prices?: Prices | undefined;
  /** What is under way in the run, as `underWay` tells: most steps have no entry before their end. */
  readonly doing?: readonly Doing[] | undefined;
  /** The present time, for work that is still running. */
  readonly now?: number | undefined;
}

/** Computes from the entries of a run what people see of it. */
export function viewRun(all: readonly RunEntry[], options: ViewOptions = {}): RunView {
  const state = new RunState();
  const entries = all.filter(({ struck }) => struck === undefined);
  for (const entry of entries) state.learn(entry as Entry, 0);
  const first = entries.find(isBeginning);
  const { summary } = state;
  const end = state.end as RunEntry | null;
  const input = inputIn(entries);
  const line = lineage(entries);
  const shape = {
    base: first?.kind === "run.forked" ? first.base : 0,
    edited: new Set(line?.edited),
    endedAt: end?.at ?? null,
    // Keys of a journal without a workflow are texts of the user, not paths.
    flat: summary.workflow === "",
    turns: turnKeys(entries),
  };
  const rows = rowsOf(entries, end === null ? { ...shape, doing: options.doing } : shape);
  const retries = retriesOf(all, shape);
  const waits = waitsOf(state);
  const blocked = end === null ? (options.blocked ?? options.head?.blocked ?? null) : null;
  return {
    runId: summary.runId,
    workflow: summary.workflow,
    version: first?.version ?? null,
    chapter: first?.kind === "run.continued" ? first.chapter : 1,
    status: blocked === null ? summary.status : "blocked",
    sleeping: summary.status === "suspended" && waits.length === 0 && state.deadline !== null,
    startedAt: first?.at ?? 0,
    endedAt: end?.at ?? null,
    updatedAt: summary.updatedAt,
    wakeAt: summary.status === "suspended" ? state.deadline : null,
    deadline: state.endsBy,
    paused: end === null && state.paused !== null ? pausedOf(state.paused) : null,
    ...(input === undefined ? {} : { input }),
    ...endOf(end),
    undoing: end === null ? undoingOf(state) : null,
    blocked,
    lineage: line,
    childOf: first !== undefined && "childOf" in first ? (first.childOf ?? null) : null,
    waits,
    rows,
    retries,
    scores: scoresIn(entries),
    losses: lossesOf(entries),
    totals: totalsOf(rows, retries, options),
    ...leftovers(end),
  };
}

function retriesOf(entries: readonly RunEntry[], shape: RowOptions): RetryView[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== "run.retried") return [];
    const { seq, at } = entry;
    const gone = entries.filter(({ struck }) => struck === seq);
    const end = gone.find((one) => traitsOf(one).ends) ?? null;
    const rows = rowsOf(gone, { ...shape, flat: true, turns: [], endedAt: end?.at ?? at });
    const { error } = endOf(end);
    const struck = rows.map((row) => ({ ...row, name: row.key, struck: at }));
    return [{ seq, at, ...(error === undefined ? {} : { error }), rows: struck }];
  });
}

function lossesOf(entries: readonly RunEntry[]): LossView[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== "run.regressed") return [];
    const { seq, at, from, to, steps } = entry;
    return [{ seq, at, from, to, steps }];
  });
}

/** All rows in the order in which they began: those that a retry struck stand before what began after them. */
export function allRows({ rows, retries }: Pick<RunView, "rows" | "retries">): readonly RowView[] {
  const struck = retries.flatMap((retry) => retry.rows).toSorted((a, b) => b.startedAt - a.startedAt);
  const all: RowView[] = [];
  for (const row of rows) {
    while (row.depth === 0 && (struck.at(-1)?.startedAt ?? Infinity) < row.startedAt)
      all.push(struck.pop() as RowView);
    all.push(row);
  }
  return [...all, ...struck.toReversed()];
}

function undoingOf({ undoing }: RunState): UndoingView | null {
  if (undoing === null) return null;
  return undoing.kind === "run.failing"
    ? { status: "failed", since: undoing.at, error: undoing.error }
    : { status: "cancelled", since: undoing.at, error: undoing.reason };
}

function pausedOf({ at, reason }: { readonly at: number; readonly reason: unknown }): RunView["paused"] {
  return { since: at, reason };
}

function waitsOf(state: RunState): WaitView[] {
  if (state.end !== null) return [];
  return state.openWaits({ answered: true }).map(({ wait, opened, answers }) => ({
    key: opened.key,
    name: nameOf(opened.key),
    wait,
    openedAt: opened.at,
    expiresAt: opened.expiresAt,
    note: opened.note,
    schema: opened.schema,
    answered: answers.length > 0,
    ...(opened.topic === undefined ? {} : { topic: opened.topic }),
  }));
}

function endOf(end: RunEntry | null): { output?: unknown; error?: unknown } {
  switch (end?.kind) {
    case "run.completed":
      return { output: end.output };
    case "run.failed":
      return { error: end.error };
    case "run.cancelled":
      return { error: end.reason };
    default:
      return {};
  }
}

function leftovers(end: RunEntry | null): Required<Leftovers> {
  const ended = end?.kind === "run.completed" || end?.kind === "run.failed" || end?.kind === "run.cancelled";
  const { orphans = [], abandoned = [], unawaited = [], uncompensated = [] }: Leftovers = ended ? end : {};
  return { orphans, abandoned, unawaited, uncompensated };
}

function totalsOf(
  rows: readonly RowView[],
  retries: readonly RetryView[],
  { prices, now }: ViewOptions,
): RunTotals {
  const struck = retries.flatMap((retry) => retry.rows);
  const work = [...struck, ...rows].filter((row) => !isContainer(row));
  const here = work.filter(({ fromJournal }) => !fromJournal);
  const reused = work.filter(({ fromJournal }) => fromJournal);
  const attempts = here.flatMap((row) => row.attempts.filter((attempt) => !isCounted(row, attempt, struck)));
  const usageOf = (of: readonly RowView[]): Spend =>
    spendOf(
      of.flatMap(({ usage }) => usage),
      prices,
    );
  return {
    settled: work.filter(paid).length,
    fromJournal: reused.filter(paid).length,
    attempts: attempts.length,
    failedAttempts: attempts.filter((attempt) => "error" in attempt).length,
    busyMs: busyMs(here, now),
    reusedMs: busyMs(reused, now),
    spent: usageOf(here),
    reused: usageOf(reused),
  };
}

/** The chunks of a stream stay after a retry, and with them an attempt whose failure was struck. */
function isCounted(
  { key, kind, struck }: RowView,
  { number, startedAt }: AttemptView,
  others: readonly RowView[],
): boolean {
  if (struck !== undefined || kind !== "stream") return false;
  const has = (row: RowView): boolean => row.attempts.some((attempt) => attempt.number === number);
  return others.some((row) => row.key === key && startedAt < (row.struck ?? 0) && has(row));
}

function paid({ seq, kind }: RowView): boolean {
  return seq !== null && (kind === "step" || kind === "stream" || kind === "child");
}
