/**
 * Calls the hooks of a drive.
 *
 * observer.1. A hook cannot affect a run: what it throws or rejects is caught, and reported once for each kind of hook; what
 *     it returns is not awaited; and it is not part of the run, so that an error that it leaves behind is not the run's.
 * observer.2. Work runs once, at once, and with its own result, whatever the hooks around it do.
 * observer.3. Entries that a driver has recorded before this drive are reported as replayed. Entries that came from
 *     outside since are news. Entries that another driver writes meanwhile are left to its hooks.
 */

import type {
  AroundAttempt,
  AttemptEnd,
  AttemptEvent,
  EndEvent,
  HookEvent,
  Hooks,
  Observer,
  RunEvent,
  RunStop,
  StepEvent,
  WaitEvent,
} from "../engine/hooks.ts";
import type { Stop } from "../engine/stop.ts";
import type { CallKind, Entry } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Settlement } from "../journal/kinds.ts";
import { hasEnded } from "../ports/storage-kit.ts";
import type { DurableError } from "../values/errors.ts";
import {
  HookCalls,
  type Observing,
  endsWait,
  isAttempt,
  isOpening,
  kindOf,
  noteStart,
  outcomeOf,
  parentOf,
  seedOf,
  usageOf,
  type Attempted,
  type Called,
} from "./hook-calls.ts";

/** Makes the observer of one drive. Without `recorded`, nothing is driven, and a single event is reported. */
export type Observe = (journal: RunJournal, recorded?: number) => DriveObserver;

export function observing(host: Observing, hooks: readonly Hooks[]): Observe {
  const calls = new HookCalls(host, hooks);
  return (journal, recorded) => {
    const observer = new DriveObserver(host, calls, journal);
    if (recorded !== undefined) observer.begin(recorded);
    return observer;
  };
}

class DriveObserver implements Observer {
  readonly #host: Observing;
  readonly #hooks: HookCalls;
  readonly #journal: RunJournal;
  readonly #startedAt: number;
  readonly #length: number;
  /** Taken at the start, because the journal may turn to its next chapter. */
  readonly #run: Omit<HookEvent, "at">;
  /** The position up to which a driver has seen the journal. */
  #recorded = Infinity;
  #replayed = 0;
  readonly #onStop: { readonly hooks: Hooks; readonly onStop: (stop: RunStop) => unknown }[] = [];
  readonly #attempts = new Map<string, OpenAttempt>();
  #began: Map<string, number> | null = null;

  constructor(host: Observing, hooks: HookCalls, journal: RunJournal) {
    this.#host = host;
    this.#hooks = hooks;
    this.#journal = journal;
    this.#startedAt = host.world.now();
    this.#length = journal.position;
    const { runId, exists } = journal;
    const { workflow, eval: made } = journal.state.summary;
    const version = exists ? journal.first.version : null;
    this.#run = {
      runId,
      workflow,
      version,
      seed: seedOf(journal),
      ...(made === undefined ? {} : { eval: made }),
    };
  }

  /** The drive begins. */
  begin(recorded: number): void {
    this.#recorded = recorded;
    if (!this.#hooks.wanted.onRun) return;
    const { wakeAt, dueSince, createdAt } = this.#journal.state.summary;
    const { chapter, first, seq } = this.#journal;
    const due = wakeAt !== null && wakeAt <= this.#startedAt;
    const event: RunEvent = {
      ...this.#run,
      at: this.#startedAt,
      createdAt,
      chapter,
      parent: parentOf(this.#journal, this.#host.driving),
      isNew: seq === first.seq,
      dueAt: due ? dueSince : null,
      takenOver: this.#journal.takenOver,
    };
    for (const hooks of this.#hooks.sets) {
      const onStop = this.#hooks.call(hooks, "onRun", hooks.onRun, event);
      if (typeof onStop === "function") this.#onStop.push({ hooks, onStop: onStop as () => unknown });
    }
  }

  /** The drive has stopped. */
  stopped(stop: Stop = { kind: "left" }): void {
    for (const key of this.#attempts.keys()) this.#endAttempt(key, "dropped", this.#host.world.now());
    if (stop.kind === "blocked") this.blocked(stop.error);
    if (this.#onStop.length === 0) return;
    const { end, summary } = this.#journal.state;
    const { status } = summary;
    const outcome = hasEnded({ status })
      ? (status as EndEvent["outcome"])
      : stop.kind === "suspended" || stop.kind === "blocked" || stop.kind === "continued"
        ? stop.kind
        : "running";
    const event: RunStop = {
      ...this.#run,
      at: this.#host.world.now(),
      outcome,
      startedAt: this.#startedAt,
      replayed: this.#replayed,
      appends: this.#journal.position - this.#length,
      ...("error" in stop ? { error: stop.error } : this.#errorOf(end)),
    };
    for (const { hooks, onStop } of this.#onStop) this.#hooks.call(hooks, "onRun", onStop, event);
  }

  blocked(error: DurableError, runId = this.#journal.runId): void {
    if (this.#hooks.wanted.onBlocked)
      this.#hooks.emit("onBlocked", { ...this.#run, at: this.#host.world.now(), runId, error });
  }

  budget(sums: { readonly spent: number; readonly most: number }): void {
    if (this.#hooks.wanted.onBudget)
      this.#hooks.emit("onBudget", { ...this.#run, at: this.#host.world.now(), ...sums });
  }

  /** The run has ended. */
  ended(): void {
    const { end, summary } = this.#journal.state;
    if (end === null || !this.#hooks.wanted.onEnd) return;
    const { createdAt, steps, status } = summary;
    this.#hooks.emit("onEnd", {
      ...this.#run,
      at: end.at,
      createdAt,
      chapter: this.#journal.chapter,
      parent: parentOf(this.#journal, this.#host.driving),
      outcome: status as EndEvent["outcome"],
      ...this.#errorOf(end),
      steps,
    });
  }

  learned(entry: Entry): void {
    // Another driver reports what it wrote.
    if (this.#journal.lost) return;
    if (!("key" in entry)) {
      if (this.#journal.state.end === entry) this.ended();
      return;
    }
    if (isAttempt(entry)) {
      if (entry.kind === "attempt.failed") noteStart(this.#began, entry);
      this.#endAttempt(entry.key, outcomeOf(entry), entry.at, entry);
      if (entry.kind !== "attempt.failed") this.#step(entry, entry.kept !== undefined);
    } else if (isOpening(entry)) {
      this.#began?.set(entry.key, entry.at);
      this.#wait(entry, "open", false);
    } else if (endsWait.test(entry.kind)) this.#waited(entry, false);
  }

  delivered(settlement: Settlement): void {
    const replayed = settlement.seq <= this.#recorded;
    if (replayed) this.#replayed += 1;
    if (!isAttempt(settlement)) this.#waited(settlement, replayed);
    else if (replayed) this.#step(settlement, true);
  }

  /** A wait has ended: from the record, or for the first time. */
  #waited(entry: Called, replayed: boolean): void {
    if (!this.#hooks.wanted.onWait || !this.#starts.has(entry.key)) return;
    this.#wait(entry, outcomeOf(entry), replayed);
    this.#starts.delete(entry.key);
  }

  #wait(entry: Called, outcome: WaitEvent["outcome"], replayed: boolean): void {
    if (!this.#hooks.wanted.onWait) return;
    const { key, at } = entry;
    const isOpen = outcome === "open";
    this.#hooks.emit("onWait", {
      ...this.#run,
      at,
      key,
      kind: kindOf(entry),
      openedAt: isOpen ? at : (this.#starts.get(key) ?? at),
      endedAt: isOpen ? null : at,
      outcome,
      ...this.#errorOf(entry),
      child: this.#journal.state.children.get(key)?.opened.child ?? null,
      replayed,
    });
  }

  #step(entry: Attempted, replayed: boolean): void {
    if (!this.#hooks.wanted.onStep) return;
    const { runId, workflow, version, seed, eval: made } = this.#run;
    const { key, at, attempt, kind } = entry;
    const failed = kind === "step.failed" || kind === "stream.failed";
    // Written out: copying objects would be most of the cost of a hook, and long replays report many steps.
    const event: StepEvent = {
      runId,
      workflow,
      version,
      seed,
      ...(made === undefined ? {} : { eval: made }),
      at,
      key,
      kind: kind === "stream.completed" || kind === "stream.failed" ? "stream" : "step",
      attempt,
      startedAt: attempt === 1 ? entry.startedAt : (this.#starts.get(key) ?? entry.startedAt),
      endedAt: at,
      outcome: failed ? "failed" : "completed",
      usage: usageOf(entry),
      replayed,
    };
    this.#hooks.emit("onStep", failed ? { ...event, ...this.#errorOf(entry) } : event);
  }

  attempt(
    kind: CallKind,
    { key, attempt, startedAt }: Pick<AttemptEvent, "key" | "attempt" | "startedAt">,
  ): OpenAttempt | undefined {
    if (!this.#hooks.wanted.onAttempt) return undefined;
    const event = { ...this.#run, at: startedAt, key, kind, attempt, startedAt };
    let layers: Layer | null = null;
    // The hooks of the first set are the outermost.
    for (let i = this.#hooks.sets.length - 1; i >= 0; i--) {
      const hooks = this.#hooks.sets[i] as Hooks;
      const around = this.#hooks.call(hooks, "onAttempt", hooks.onAttempt, event);
      if (typeof around === "function") layers = { hooks, around: around as AroundAttempt, inner: layers };
    }
    if (layers === null) return undefined;
    const { promise, resolve } = Promise.withResolvers<AttemptEnd>();
    const open = { event, resolve, end: promise, layers, result: undefined };
    this.#attempts.set(key, open);
    return open;
  }

  surround<R>(attempt: object, work: () => R): R {
    const open = attempt as OpenAttempt;
    this.#host.leave();
    this.#enter(open, open.layers, work);
    return open.result as R;
  }

  #enter(open: OpenAttempt, layer: Layer | null, work: () => unknown): void {
    if (layer === null) {
      open.result = work();
      return;
    }
    let called = false;
    const inner = (): Promise<AttemptEnd> => {
      if (!called) {
        called = true;
        this.#enter(open, layer.inner, work);
      }
      return open.end;
    };
    this.#hooks.ours = open.end;
    this.#hooks.call(layer.hooks, "onAttempt", layer.around, inner);
    if (called) return;
    this.#hooks.failed(layer.hooks, "onAttempt", new Error("It did not call the work that it got."));
    void inner();
  }

  #endAttempt(key: string, outcome: AttemptEnd["outcome"], endedAt: number, entry?: Attempted): void {
    const open = this.#attempts.get(key);
    if (open === undefined) return;
    this.#attempts.delete(key);
    const retryAt = entry?.kind === "attempt.failed" ? entry.retryAt : null;
    const end: AttemptEnd = {
      ...open.event,
      at: endedAt,
      endedAt,
      outcome,
      usage: usageOf(entry),
      retryAt,
    };
    open.resolve(outcome === "completed" ? end : { ...end, ...this.#errorOf(entry) });
  }

  /** When each wait was opened, and each step that failed before began. From the journal, at the first use. */
  get #starts(): Map<string, number> {
    if (this.#began !== null) return this.#began;
    const began = (this.#began = new Map<string, number>());
    for (const entry of this.#journal.entries) {
      if (entry.kind === "attempt.failed") noteStart(began, entry);
      else if ("key" in entry && isOpening(entry)) began.set(entry.key, entry.at);
    }
    return began;
  }

  #errorOf(entry: Entry | null | undefined): { readonly error?: unknown } {
    if (entry === null || entry === undefined || !("error" in entry)) return {};
    try {
      return { error: this.#host.decode(entry.error, `error of run ${this.#run.runId}`) };
    } catch (error) {
      return { error };
    }
  }
}

/** What one set of hooks puts around the work of an attempt. */
interface Layer {
  readonly hooks: Hooks;
  readonly around: AroundAttempt;
  readonly inner: Layer | null;
}

interface OpenAttempt {
  readonly event: AttemptEvent;
  readonly resolve: (end: AttemptEnd) => void;
  readonly end: Promise<AttemptEnd>;
  readonly layers: Layer;
  /** What the work returned. */
  result: unknown;
}
