/** Hooks: functions of the user that learn what runs do. The code that calls them is in runs/observer.ts. */

import type { CallKind, Entry } from "../journal/entry.ts";
import type { Settlement } from "../journal/kinds.ts";
import type { Usage } from "../values/usage.ts";
import type { DurableError } from "../values/errors.ts";

/** What every event of a hook has. */
export interface HookEvent {
  readonly runId: string;
  /** The name of the workflow; empty when the journal could not be read. */
  readonly workflow: string;
  readonly version: string | null;
  /**
   * A text that names this run, or its chapter, and no other; equal in every process. Ids of traces are made from it.
   */
  readonly seed: string;
  /** The eval that the run is, or that made it. Missing for all other runs. */
  readonly eval?: string;
  /** When it happened, in milliseconds since the epoch. */
  readonly at: number;
}

/** The run that another run is a fork or a child of. */
export interface ParentOfRun {
  readonly kind: "fork" | "child";
  readonly runId: string;
  /** The call that waits for a child; `null` for a fork. */
  readonly key: string | null;
  /** The `seed` of the parent; `null` when this process does not know it. */
  readonly seed: string | null;
}

/** A process begins to drive a run: for the first time, after a wait, or after a crash. */
export interface RunEvent extends HookEvent {
  readonly createdAt: number;
  readonly chapter: number;
  readonly parent: ParentOfRun | null;
  /** No process has recorded work of this run, or of its chapter, before. */
  readonly isNew: boolean;
  /** Since when the run was due; `null` when it was not. */
  readonly dueAt: number | null;
  /** The driver before did not give the run back: it died, or was silent until its lease ended. Buckets do not know. */
  readonly takenOver: boolean;
}

/** Where a drive stopped. `running`: another process goes on. `continued`: the next chapter begins. */
export interface RunStop extends HookEvent {
  readonly outcome: "completed" | "failed" | "cancelled" | "suspended" | "blocked" | "running" | "continued";
  /** When the drive began. */
  readonly startedAt: number;
  /** Recorded outcomes that the code got again. */
  readonly replayed: number;
  /** Batches by which the journal has grown, those from outside included. */
  readonly appends: number;
  readonly error?: unknown;
}

/** One attempt of a step or stream begins. */
export interface AttemptEvent extends HookEvent {
  readonly key: string;
  readonly kind: CallKind;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly startedAt: number;
}

/** The end of an attempt. `retried`: it failed, and another one follows. `dropped`: its result is not needed. */
export interface AttemptEnd extends AttemptEvent {
  readonly endedAt: number;
  readonly outcome: "completed" | "failed" | "retried" | "dropped";
  readonly error?: unknown;
  readonly usage: readonly Usage[];
  /** When the next attempt begins. */
  readonly retryAt: number | null;
}

/** A step or stream has an outcome. */
export interface StepEvent extends HookEvent {
  readonly key: string;
  readonly kind: CallKind;
  /** The number of its last attempt. */
  readonly attempt: number;
  /** When its first attempt began. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: "completed" | "failed";
  readonly error?: unknown;
  /** What its last attempt used. */
  readonly usage: readonly Usage[];
  /** The outcome was recorded before this drive: no work ran. */
  readonly replayed: boolean;
}

/** A suspend point, sleep or child is opened, or has ended. */
export interface WaitEvent extends HookEvent {
  readonly key: string;
  readonly kind: CallKind;
  readonly openedAt: number;
  /** `null` while it is open. */
  readonly endedAt: number | null;
  readonly outcome: "open" | "completed" | "failed" | "expired" | "closed";
  readonly error?: unknown;
  /** The run of a child. */
  readonly child: string | null;
  /** The outcome was recorded before this drive. */
  readonly replayed: boolean;
}

/** A run has ended. */
export interface EndEvent extends HookEvent {
  readonly createdAt: number;
  readonly chapter: number;
  readonly parent: ParentOfRun | null;
  readonly outcome: "completed" | "failed" | "cancelled";
  readonly error?: unknown;
  /** Steps and streams that have settled. */
  readonly steps: number;
}

/** A budget is nearly used up. */
export interface BudgetEvent extends HookEvent {
  readonly spent: number;
  readonly most: number;
}

/** A run cannot continue until it is put right. */
export interface BlockedEvent extends HookEvent {
  readonly error: DurableError;
}

/**
 * What `onAttempt` may return: it calls `work` at once, so that the work of the step runs inside of it. `work` returns
 * how the attempt ended, once that is recorded.
 */
export type AroundAttempt = (work: () => Promise<AttemptEnd>) => unknown;

/** The result of a hook is not awaited, and an error in it does not affect the run. */
export interface Hooks {
  /** A drive begins. A function that it returns is called when the drive has stopped. */
  readonly onRun?: ((event: RunEvent) => ((stop: RunStop) => unknown) | void) | undefined;
  /** A step or stream has an outcome, now or from the record. */
  readonly onStep?: ((event: StepEvent) => unknown) | undefined;
  /** An attempt begins. A function that it returns surrounds the work. */
  readonly onAttempt?: ((event: AttemptEvent) => AroundAttempt | void) | undefined;
  /** A wait is opened, or has ended. */
  readonly onWait?: ((event: WaitEvent) => unknown) | undefined;
  /** A run has ended. */
  readonly onEnd?: ((event: EndEvent) => unknown) | undefined;
  /** A budget is nearly used up: once for each limit, and again in a process that takes the run over. */
  readonly onBudget?: ((event: BudgetEvent) => unknown) | undefined;
  /** A run is blocked. */
  readonly onBlocked?: ((event: BlockedEvent) => unknown) | undefined;
}

/** One set of hooks, or several. */
export type HooksOption = Hooks | readonly Hooks[];

/** How an engine and its calls report to the hooks of one drive. */
export interface Observer {
  /** An entry became durable. */
  learned(entry: Entry): void;
  /** The workflow gets an outcome. */
  delivered(settlement: Settlement): void;
  /** A budget is nearly used up. */
  budget(sums: Pick<BudgetEvent, "spent" | "most">): void;
  /** An attempt begins; returns what hooks put around its work, for `surround`. */
  attempt(kind: CallKind, attempted: Pick<AttemptEvent, "key" | "attempt" | "startedAt">): object | undefined;
  /** Calls the hooks outside the async context of the run, and the work inside it. Returns the result of the work. */
  surround<R>(open: object, work: () => R): R;
}

/** What hooks and logs need of an execution. */
export interface Watch {
  /** The hooks of the present drive. */
  observer: Observer | undefined;
  /** The position of the latest entry of a driver when the execution began. */
  readonly recorded: number;
  /** The code was here before: up to this position of what it has seen. Computed when something is logged. */
  reached: number | undefined;
}
