/** How a drive is started and how it stops: its options, the park, the end, and the reasons to refuse an end. */

import type { Fact, Leftovers } from "../journal/entry.ts";
import type { RunState } from "../journal/fold.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Keyring } from "../journal/tokens.ts";
import type { Owner } from "../ports/async-context.ts";
import type { World } from "../ports/world.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Duration } from "../values/duration.ts";
import { DurableError } from "../values/errors.ts";
import type { Defaults, Permits } from "./definition.ts";
import type { TreeLedger } from "./budgeting.ts";
import type { Children } from "./child-runs.ts";
import type { EvalFork } from "./evals.ts";
import type { HooksOption, Watch } from "./hooks.ts";
import type { DriverLease } from "./lease.ts";
import type { CallRegistry } from "./registry.ts";
import type { Rename } from "./renames.ts";
import type { Replay } from "./replay.ts";
import type { Timers } from "./timers.ts";
import { goneAtPark, unreachedWaits, vanishedWait } from "./vanished.ts";

/** Why a drive ended. The outcome of the run is in the journal. `continued`: the next chapter has begun. */
export type Stop =
  | { readonly kind: "ended" | "suspended" | "lost" | "left" | "continued" }
  | { readonly kind: "blocked"; readonly error: DurableError; readonly since?: number };

/** The end of the workflow function, encoded. */
export interface Finish {
  fact(leftovers: Leftovers): EndFact;
  /** Set when the deadline of the run ended it: the calls that were under way. */
  readonly abandoned?: readonly string[];
  readonly thrown?: { readonly value: unknown };
}

/** How one call is undone. Only the code has the function, so replay finds it again, by the key of the call. */
export interface Undoable {
  /** What `ctx.onCancel` or `{ compensate }` was given. */
  readonly fn: (...given: never[]) => unknown;
  /** The time limit of a clean-up. */
  readonly timeoutMs?: number;
}

/** What is to be undone, the latest first: its key, and the key under which its undoing is recorded. */
export function toUndo({ undoing, undoable }: RunState): { readonly key: string; readonly by: string }[] {
  const all = undoing?.kind === "run.cancelling";
  const calls = [...undoable].filter(([, { call }]) => all || call === "step").toReversed();
  return calls.map(([key, { call }]) => ({ key, by: call === "step" ? key + undoSuffix : key }));
}

export const undoSuffix = "/compensate";

/** What undoes a run. */
export interface Undo {
  /** The end of the run, once all is undone. */
  readonly finish: Finish | null;
  /** True when the fact is one of the undoing. */
  owns(fact: Fact<Json>): boolean;
}

/** The last fact of a chapter. */
export type EndFact = Extract<
  Fact<Json>,
  { kind: "run.completed" | "run.failed" | "run.cancelled" | "run.continued" }
>;

/** What a hook can do after replay and before any work starts. */
export interface ReplayEnd {
  readonly journal: RunJournal;
  readonly calls: CallRegistry;
  readonly replay: Replay;
  readonly finished: boolean;
  /** The error that ended the workflow function, if there was one. */
  readonly thrown?: { readonly value: unknown } | undefined;
  block(error: DurableError): void;
  /** For a replay that writes nothing: judges the calls that would begin. True when the code goes on with kept outcomes. */
  preview(): boolean;
  /** Calls that may be recorded ones under another name, and would run. */
  readonly unsure: Iterable<Rename>;
}
/** `again`: another writer appended first, and the workflow has not seen those entries yet. */
export type OnReplayEnd = (replayEnd: ReplayEnd) => Promise<"go on" | "leave" | "again">;

export interface EngineOptions {
  readonly journal: RunJournal;
  readonly world: World;
  /** An error if no secret is configured; the first suspend point blocks the run with it. */
  readonly keyring: Keyring | DurableError;
  /** The lease, kept alive while driving. */
  readonly lease: DriverLease;
  readonly children: Children;
  /** Options of the workflow for its steps. */
  readonly defaults: Defaults;
  /** The version of the code. */
  readonly version: string | null;
  /** Reports the end of the run to its parent, if it has one, before the end is appended. */
  readonly reportEnd: (end: Fact<Json>) => Promise<void>;
  /** How long work may go on after the workflow function has settled. */
  readonly lingerMs: number;
  readonly permits: Permits;
  readonly trees: TreeLedger;
  readonly owner: Owner;
  /** Begins to undo what the run did. */
  readonly undo: () => Promise<Undo>;
  readonly watch: Watch;
  /** Shows work that takes long; the returned function ends it. */
  readonly shows?: Shows | undefined;
  /** For a fork of an eval. */
  readonly off?: EvalFork | undefined;
  /** Called when a parked workflow makes another call, so that the run is driven again. */
  readonly revive: () => void;
}

/** Shows an attempt that is under way, with what a stream has said last. */
export type Shows = (
  kind: "step" | "stream",
  attempt: { readonly key: string; readonly attempt: number; readonly startedAt: number },
  said: () => string,
) => () => void;

/** Options of one drive. */
export interface Driving {
  /** Sleeps, retries and timeouts that end within this time are held in memory. */
  readonly patienceMs: number;
  /** For placing an answer. */
  readonly onReplayEnd?: OnReplayEnd | undefined;
}

/** Why running work is aborted; `null` when no work can be running, or the run is only parked. */
export function abortReason({ runId, state }: RunJournal, stop: Stop, idle: boolean): DurableError | null {
  const over = state.end?.kind;
  if (idle && (over === "run.completed" || over === "run.failed")) return null;
  if (stop.kind === "suspended" || (idle && stop.kind === "continued")) return null;
  if (stop.kind === "blocked") return stop.error;
  return new DurableError("cancelled", `Run ${runId} no longer needs this work.`);
}

/** Options of `app.advance`. */
export interface AdvanceOptions {
  /**
   * Waits shorter than this are held in memory; longer ones park the run. The app's own patience by default.
   */
  readonly patience?: Duration | undefined;
  /** On abort the run is handed over: work under way is finished and recorded, nothing more begins. */
  readonly signal?: AbortSignal | undefined;
  /**
   * A run that was started more often than this without progress is `blocked` as `poison`; no limit by
   * default.
   */
  readonly maxStarts?: number | undefined;
  /**
   * False when other runs are driven beside this one, so that their crashes may have stopped it: it is then
   * reported as `poison`, but not noted as such. True by default.
   */
  readonly alone?: boolean | undefined;
  /**
   * Only a run whose current chapter began with one of these versions of the code is driven. Any other is left
   * as it is, with the error `other-version`. All by default.
   */
  readonly versions?: readonly string[] | undefined;
  /** Hooks of this drive, beside those of the app. */
  readonly hooks?: HooksOption | undefined;
}

interface Answerable {
  readonly journal: RunJournal;
  readonly replay: Replay;
  readonly calls: CallRegistry;
}

type Park = Fact<Json> & { kind: "run.suspended" };

/** If this process dies while its code awaits something other than ctx, another process checks after this time. */
const foreignMs = 30_000;

/**
 * The park of a run that only waits; `diverged` when an open wait is gone, so that the run would keep its answer for ever. If
 * an answer is there whose wait the code has not reached, and may reach, the run is checked again later.
 */
export function parkOf(
  run: Answerable & { readonly timers: Pick<Timers, "stops">; readonly world: World },
): Park | DurableError {
  const { wakeAt, recheckAt } = run.timers.stops();
  const gone = goneAtPark(run);
  if (gone !== null) {
    const waits = run.calls.unfinished("suspend");
    return vanishedWait(run.journal.runId, gone.key, { waits });
  }
  const missed = unreachedWaits(run).some(({ isAnswered }) => isAnswered);
  const look = missed ? Math.min(recheckAt ?? Infinity, run.world.now() + foreignMs) : recheckAt;
  return { kind: "run.suspended", wakeAt, ...(look === null ? {} : { look }) };
}

/** True when the journal already has this park. */
export function isParked({ state }: RunJournal, { wakeAt, look }: Park): boolean {
  return state.summary.status === "suspended" && look === undefined && state.summary.wakeAt === wakeAt;
}

/** The function has thrown. */
export function failure(thrown: unknown, runId: string): Finish {
  const error = encodeThrown(thrown, `error of run ${runId}`);
  return { fact: (leftovers) => ({ kind: "run.failed", error, ...leftovers }), thrown: { value: thrown } };
}

/** The end of the run as a fact, or `diverged` if the code did not reach an open wait. */
export function endOf(finish: Finish, run: Answerable & { readonly world: World }): EndFact | DurableError {
  const { runId } = run.journal;
  const { abandoned: late } = finish;
  if (late !== undefined) return finish.fact(late.length === 0 ? {} : { abandoned: late });
  const [vanished] = unreachedWaits(run);
  if (vanished !== undefined) return vanishedWait(runId, vanished.opened.key, { ...finish, finished: true });
  const { replay, calls } = run;
  const orphans = replay
    .orphans()
    .filter((key) => !replay.isCalled(key) && !calls.isClosed(key) && !replay.isLost(key));
  if (orphans.length > 0) run.world.warn(orphanWarning(runId, orphans));
  const unawaited = calls.unawaited();
  if (unawaited.length > 0) run.world.warn(unawaitedWarning(runId, unawaited));
  const abandoned = calls.unfinished("step", "stream", "child", "spawn");
  // A call that a budget or an eval does not let through is not one that the code forgot.
  const { value: thrown } = finish.thrown ?? {};
  const isRefused = DurableError.is(thrown, "over-budget") || DurableError.is(thrown, "off-the-record");
  if (abandoned.length > 0 && !isRefused) run.world.warn(abandonedWarning(runId, abandoned));
  const leftovers = { orphans, abandoned, unawaited };
  return finish.fact(Object.fromEntries(Object.entries(leftovers).filter(([, keys]) => keys.length > 0)));
}

function orphanWarning(runId: string, orphans: readonly string[]): string {
  return `run ${runId} ended with ${orphans.length} recorded result(s) that the code did not use: ${some(orphans)}. For a renamed step, pass { was: "old name" }.`;
}

function unawaitedWarning(runId: string, keys: readonly string[]): string {
  return `run ${runId} ended, but its code never looked at the failure of: ${some(keys)}. Await these calls, or catch their errors.`;
}

function abandonedWarning(runId: string, keys: readonly string[]): string {
  return `run ${runId} ended without waiting for: ${some(keys)}. Await these calls, or race them with ctx.race.`;
}

function some(keys: readonly string[]): string {
  return keys.slice(0, 10).join(", ");
}
