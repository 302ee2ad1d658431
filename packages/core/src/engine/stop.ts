/** How a drive is started and how it stops: its options, the park, the end, and the reasons to refuse an end. */

import type { Entry, Fact } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { nameOf } from "../journal/keys.ts";
import type { Keyring } from "../journal/tokens.ts";
import type { World } from "../ports/world.ts";
import { decode } from "../values/codec/decode.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Duration } from "../values/duration.ts";
import { DurableError, describeError } from "../values/errors.ts";
import type { Children } from "./child-runs.ts";
import type { DriverLease } from "./lease.ts";
import type { CallRegistry } from "./registry.ts";
import type { Replay } from "./replay.ts";

/** Why a drive ended. The outcome of the run is in the journal. */
export type Stop =
  | { readonly kind: "ended" | "suspended" | "lost" | "left" }
  | { readonly kind: "blocked"; readonly error: DurableError };

/** The end of the workflow function, encoded. */
export interface Finish {
  fact(orphans: readonly string[]): Fact<Json>;
  readonly thrown?: { readonly value: unknown };
}

/** What a hook can do after replay and before any work starts. */
export interface ReplayEnd {
  readonly journal: RunJournal;
  readonly calls: CallRegistry;
  readonly finished: boolean;
  learn(entries: readonly Entry[]): void;
  block(error: DurableError): void;
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
  /** Reports the end of the run to its parent, if it has one, before the end is appended. */
  readonly reportEnd: (end: Fact<Json>) => Promise<void>;
  /** Called when a parked workflow makes another call, so that the run is driven again. */
  readonly revive: () => void;
}

/** Options of one drive. */
export interface Driving {
  /** Sleeps and retries that end within this time are held in memory. */
  readonly patienceMs: number;
  /** For placing an answer. */
  readonly onReplayEnd?: OnReplayEnd | undefined;
}

/** Why running work is aborted; `null` when no work can be running, or the run is only parked. */
export function abortReason({ runId, state }: RunJournal, stop: Stop, idle: boolean): DurableError | null {
  const over = state.end?.kind;
  if (idle && (over === "run.completed" || over === "run.failed")) return null;
  if (stop.kind === "suspended") return null;
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
}

type Park = Fact<Json> & { kind: "run.suspended" };

export function parkOf({
  wakeAt,
  recheckAt,
}: {
  readonly wakeAt: number | null;
  readonly recheckAt: number | null;
}): Park {
  return { kind: "run.suspended", wakeAt, ...(recheckAt === null ? {} : { look: recheckAt }) };
}

/** True when the journal already has this park. */
export function isParked({ state }: RunJournal, { wakeAt, look }: Park): boolean {
  return state.summary.status === "suspended" && look === undefined && state.summary.wakeAt === wakeAt;
}

/** The end of the run as a fact, or `diverged` if the code did not reach an open wait. */
export function endOf(
  finish: Finish,
  run: {
    readonly journal: RunJournal;
    readonly replay: Replay;
    readonly calls: CallRegistry;
    readonly world: World;
  },
): Fact<Json> | DurableError {
  const { runId, state } = run.journal;
  const unreached = (key: string): boolean => !run.replay.isCalled(key) && !run.calls.isClosed(key);
  const vanished = state.openWaits({ answered: true }).find(({ opened }) => unreached(opened.key));
  if (vanished !== undefined) return vanishedWait(runId, vanished.opened.key, finish.thrown);
  const orphans = run.replay.orphans().filter(unreached);
  if (orphans.length > 0) run.world.warn(orphanWarning(runId, orphans));
  return finish.fact(orphans);
}

/** `thrown` is the error that ended the code before it reached the wait, if there was one. */
export function vanishedWait(runId: string, key: string, thrown?: { readonly value: unknown }): DurableError {
  const name = nameOf(key);
  const where = `error of run ${runId}`;
  const branch = key.includes("/") ? ` in ${key.slice(0, key.lastIndexOf("/"))}` : "";
  const end = thrown === undefined ? "ended" : `failed (${describeError(thrown.value)})`;
  return new DurableError(
    "diverged",
    `Run ${runId} does not fit this code: the code ${end} without reaching the open suspend point "${key}". Restore ctx.suspend("${name}")${branch}, or fork the run; then advance it again.`,
    {
      ...(thrown === undefined ? {} : { cause: decode(encodeThrown(thrown.value, where), where) }),
      details: { key, recorded: { kind: "suspend" }, asked: null },
    },
  );
}

function orphanWarning(runId: string, orphans: readonly string[]): string {
  return `run ${runId} ended with ${orphans.length} recorded result(s) that the code did not use: ${orphans.slice(0, 10).join(", ")}. For a renamed step, pass { was: "old name" }.`;
}
