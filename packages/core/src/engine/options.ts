/** What a drive is given, and how it ends. */

import type { Json } from "../values/codec/tags.ts";
import type { Duration } from "../values/duration.ts";
import type { Entry, Fact } from "../journal/entry.ts";
import { DurableError } from "../values/errors.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Keyring } from "../journal/tokens.ts";
import type { World } from "../ports/world.ts";
import type { CallRegistry } from "./registry.ts";
import type { Children } from "./child-runs.ts";
import type { DriverLease } from "./lease.ts";

/** Why a drive came to its end. What the run's outcome is, the journal says. */
export type Stop =
  | { readonly kind: "ended" | "suspended" | "lost" | "left" }
  | { readonly kind: "blocked"; readonly error: DurableError };

/** The end of the workflow function, encoded. */
export interface Finish {
  fact(orphans: readonly string[]): Fact<Json>;
  readonly thrown?: { readonly value: unknown };
}

/** What may be done when replay has come to its end and before any work starts. */
export interface ReplayEnd {
  readonly journal: RunJournal;
  readonly calls: CallRegistry;
  readonly finished: boolean;
  learn(entries: readonly Entry[]): void;
  block(error: DurableError): void;
}
/** `again`: others were first, and the code has yet to see what they wrote. */
export type OnReplayEnd = (replayEnd: ReplayEnd) => Promise<"go on" | "leave" | "again">;

export interface EngineOptions {
  readonly journal: RunJournal;
  readonly world: World;
  /** Or the error that asks for a secret, raised by the first suspend point. */
  readonly keyring: Keyring | DurableError;
  /** The lease, kept alive while driving. */
  readonly lease: DriverLease;
  readonly children: Children;
  /** Says to the run's parent, if it has one, how the run is about to end. */
  readonly reportEnd: (end: Fact<Json>) => Promise<void>;
  /** A call on a parked run: told so that somebody may drive it on. */
  readonly revive: () => void;
}

/** What one drive is given. */
export interface Driving {
  /** Sleeps and retries within this time are sat out. */
  readonly patienceMs: number;
  /** For placing an answer. */
  readonly onReplayEnd?: OnReplayEnd | undefined;
}

/** What work that is still running is told; `null` when there can be none, or it ended well with its run. */
export function abortReason({ runId, state }: RunJournal, stop: Stop, idle: boolean): DurableError | null {
  const over = state.end?.kind;
  if (idle && (over === "run.completed" || over === "run.failed")) return null;
  if (stop.kind === "suspended") return null;
  if (stop.kind === "blocked") return stop.error;
  return new DurableError("cancelled", `Run ${runId} does not need this work any more.`);
}

/** Options of `app.advance`. */
export interface AdvanceOptions {
  /**
   * Waits shorter than this are held in memory; longer ones park the run. The app's own patience by default.
   */
  readonly patience?: Duration;
  /** On abort the run is handed over: work under way is finished and recorded, nothing more begins. */
  readonly signal?: AbortSignal;
  /**
   * A run that was started more often than this without progress is `blocked` as `poison`; no limit by
   * default.
   */
  readonly maxStarts?: number;
}
