/** The base of steps, sleeps, suspend points and the like: a key, a scope, and a promise that the journal settles. */

import type { DurableError } from "../../values/errors.ts";
import type { Keyring } from "../../journal/tokens.ts";
import type { RunJournal } from "../../journal/journal.ts";
import type { Fact } from "../../journal/entry.ts";
import type { Owner } from "../../ports/async-context.ts";
import type { World } from "../../ports/world.ts";
import type { Json } from "../../values/codec/tags.ts";
import type { Defaults, ByContent, Permits } from "../definition.ts";
import type { BudgetsOfRun, TreeLedger } from "../budgeting.ts";
import type { Children } from "../child-runs.ts";
import type { EvalFork } from "../evals.ts";
import type { Watch } from "../hooks.ts";
import type { Shows } from "../stop.ts";
import type { InFlight, Verdicts } from "../verdicts.ts";
import type { DriverLease } from "../lease.ts";
import type { Asked, Call, CallRegistry, Entered } from "../registry.ts";
import type { Placement } from "../placement.ts";
import type { Finish, Undoable } from "../stop.ts";
import type { Timers } from "../timers.ts";
import { callDeferred, type CallPromise } from "../promise.ts";
import type { CallKind, KeyRecord, Replay, Settlement } from "../replay.ts";
import type { Closing, Scope } from "../scope.ts";

/** Everything a call may ask of the engine that drives its run. A call keeps no state that the engine has. */
export interface CallEngine {
  readonly world: World;
  readonly journal: Pick<
    RunJournal,
    | "runId"
    | "locator"
    | "nonce"
    | "first"
    | "state"
    | "entries"
    | "seedAt"
    | "lost"
    | "runAt"
    | "prices"
    | "prompts"
    | "otherPrompts"
  >;
  readonly replay: Pick<Replay, "record" | "answer" | "delivered" | "clock">;
  readonly timers: Pick<Timers, "wait" | "cancel" | "waiting">;
  readonly inFlight: Pick<InFlight, "begin">;
  readonly placement: Pick<Placement, "assertOutsideSteps" | "undoing">;
  readonly verdicts: Pick<Verdicts, "judge" | "drop">;
  readonly calls: Pick<CallRegistry, "addWait" | "landed" | "rejected" | "close" | "take" | "putBack">;
  /** Streams whose first chunks are gathered: they are written before any other fact. */
  readonly unwritten: Set<() => void>;
  readonly budgets: BudgetsOfRun;
  /** How calls are undone, by key. */
  readonly undoables: Map<string, Undoable>;
  readonly options: {
    readonly keyring: Keyring | DurableError;
    /** Who owns the code of the run. */
    readonly owner: Owner;
    readonly children: Children;
    readonly defaults: Defaults;
    readonly lease: Pick<DriverLease, "valid" | "pollNow">;
    readonly permits: Permits;
    readonly trees: TreeLedger;
    readonly watch: Watch;
    readonly shows?: Shows | undefined;
    readonly off?: EvalFork | undefined;
  };
  /** The workflow function has settled. */
  readonly finished: boolean;
  /** A call may begin in this drive, also one that a workflow which has ended does not await. */
  readonly mayBegin: boolean;
  /** An attempt may start, and a child be driven: the code still waits for it. */
  readonly mayStart: boolean;
  /** Assigns the key of a call; `null` means that its promise stays pending. */
  enter(asked: Asked): Entered | null;
  /** Registers a call, which begins when the loop comes to it. */
  add(call: Call, name: string): void;
  /** Queues a registered call once more. */
  queue(call: Call): void;
  write(fact: Fact<Json>): void;
  writeWithNext(fact: Fact<Json>): void;
  /** Takes back a fact that is queued and not durable. */
  withdraw(fact: Fact<Json>): void;
  block(error: DurableError): void;
  /** Ends the run, whatever its code does. */
  finish(finish: Finish): void;
  rest(): () => void;
}

export interface CallParts {
  readonly scope: Scope;
  readonly name: string;
  readonly entered: Entered;
}

export abstract class KeyedCall<P extends CallParts, T> implements Call {
  readonly key: string;
  readonly kind: CallKind;
  readonly scope: Scope;
  /** Highest position delivered when the call was made. */
  readonly after: number;
  protected readonly engine: CallEngine;
  protected readonly parts: P;
  protected readonly outcome = callDeferred<T>();
  settled = false;
  #stopListening: () => void = () => {};

  constructor(engine: CallEngine, kind: CallKind, parts: P) {
    this.kind = kind;
    this.engine = engine;
    this.parts = parts;
    this.key = parts.entered.key;
    this.after = parts.entered.after;
    this.scope = parts.scope;
    engine.add(this, parts.name);
  }

  /** The name in messages: `step "draft" of run r-17`. */
  get where(): string {
    const what = this.kind === "suspend" ? "suspend point" : this.kind;
    return `${what} "${this.key}" of run ${this.engine.journal.runId}`;
  }

  get entered(): Entered {
    return this.parts.entered;
  }

  get byContent(): ByContent | undefined {
    return this.parts.entered.asked?.byContent;
  }

  get promise(): CallPromise<T> {
    return this.outcome.promise;
  }

  settle(settlement: Settlement): void {
    // Its deadline came first.
    if (this.settled) return;
    this.#stopListening();
    this.settled = true;
    this.engine.calls.landed(this, this.parts.name);
    this.engine.options.watch.observer?.delivered(settlement);
    try {
      this.answer(settlement);
    } catch (error) {
      // The record cannot be read. That is not an outcome of the call, so the workflow must not see one.
      this.engine.block(error as DurableError);
    }
  }

  /** A failure that the code never observes is reported when the run ends. */
  protected reject(error: unknown): void {
    this.outcome.reject(error);
    this.engine.calls.rejected(this.key, this.promise);
  }

  /** What is recorded under this key. */
  protected get record(): KeyRecord | undefined {
    return this.engine.replay.record(this.key);
  }

  /** Schedules a call of `due`, unless the scope is closed before. */
  waitUntil(at: number): void {
    this.engine.timers.wait(this, at);
    this.whenClosed(() => this.engine.timers.cancel(this));
  }

  /** Calls `closer` once, if the scope is closed while this call is open. */
  protected whenClosed(closer: (how: Closing) => void): void {
    this.#stopListening();
    this.#stopListening = this.scope.whenClosed(closer);
  }

  /** Hands the recorded outcome to the workflow. */
  protected abstract answer(settlement: Settlement): void;
  abstract begin(): void;
  abstract due(): void;
}
