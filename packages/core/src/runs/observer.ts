/**
 * Calls the hooks of a drive. Loaded at the first drive with hooks.
 *
 * observer.1. A hook cannot affect a run: what it throws or rejects is caught, and reported once for each kind of hook; what
 *     it returns is not awaited; and it is not part of the run, so that an error that it leaves behind is not the run's.
 * observer.2. Work runs once, at once, and with its own result, whatever the hooks around it do.
 * observer.3. What a driver has recorded before this drive is reported as replayed. What came from outside since is news,
 *     and what another driver writes meanwhile is left to its hooks.
 */

import type {
  AroundAttempt,
  AttemptEnd,
  AttemptEvent,
  HookEvent,
  Hooks,
  Observer,
  RunStop,
} from "../engine/hooks.ts";
import type { Stop } from "../engine/stop.ts";
import type { Entry } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Settlement } from "../journal/kinds.ts";
import type { Owner } from "../ports/async-context.ts";
import type { World } from "../ports/world.ts";
import type { Json } from "../values/codec/tags.ts";
import type { DurableError } from "../values/errors.ts";
import {
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
} from "./observed-entries.ts";

/**
 * What hooks need of a host and of the kernel. This file imports no code: what a part that is loaded later shares with the
 * kernel, bundlers put into a file of its own.
 */
interface Observing {
  readonly decode: (json: Json, where: string) => unknown;
  readonly ownerNow: () => Owner | undefined;
  readonly runAs: <R>(owner: Owner, fn: () => R) => R;
  readonly world: World;
  /** Runs that this process drives now. */
  readonly driving: ReadonlyMap<string, { readonly journal: RunJournal }>;
}

/** Makes the observer of one drive. Without `recorded`, nothing is driven, and a single event is reported. */
export type Observe = (journal: RunJournal, recorded?: number) => DriveObserver;

type HookName = keyof Hooks;
type EventOf<N extends HookName> = Parameters<NonNullable<Hooks[N]>>[0];

/** Hooks that have failed, and were reported. */
const reported = new WeakMap<Hooks, Set<HookName>>();
const noOwner = undefined as unknown as Owner;

export function observing(host: Observing, hooks: readonly Hooks[]): Observe {
  return (journal, recorded) => {
    const observer = new DriveObserver(host, hooks, journal);
    if (recorded !== undefined) observer.begin(recorded);
    return observer;
  };
}

class DriveObserver implements Observer {
  readonly #host: Observing;
  readonly #hooks: readonly Hooks[];
  readonly #journal: RunJournal;
  readonly #startedAt: number;
  readonly #length: number;
  /** Taken at the start, because the journal may turn to its next chapter. */
  readonly #run: Omit<HookEvent, "at">;
  /** The position up to which a driver has seen the journal. */
  #recorded = Infinity;
  #replayed = 0;
  #onStop: ((stop: RunStop) => void)[] = [];
  readonly #attempts = new Map<
    string,
    { readonly event: AttemptEvent; readonly end: PromiseWithResolvers<AttemptEnd> }
  >();
  #began: Map<string, number> | null = null;

  constructor(host: Observing, hooks: readonly Hooks[], journal: RunJournal) {
    this.#host = host;
    this.#hooks = hooks;
    this.#journal = journal;
    this.#startedAt = host.world.now();
    this.#length = journal.position;
    const { runId, exists } = journal;
    const { workflow } = journal.state.summary;
    this.#run = { runId, workflow, version: exists ? journal.first.version : null, seed: seedOf(journal) };
  }

  /** The drive begins. */
  begin(recorded: number): void {
    this.#recorded = recorded;
    const { wakeAt, updatedAt, createdAt } = this.#journal.state.summary;
    const { chapter, first, seq } = this.#journal;
    const due = wakeAt !== null && wakeAt <= this.#startedAt;
    this.#emit(
      "onRun",
      () => ({
        ...this.#event(this.#startedAt),
        createdAt,
        chapter,
        parent: parentOf(this.#journal, this.#host.driving),
        isNew: seq === first.seq,
        dueAt: due ? wakeAt || updatedAt : null,
      }),
      (onStop, hooks) => {
        if (typeof onStop === "function")
          this.#onStop.push((stop) => void this.#call(hooks, "onRun", () => onStop(stop)));
      },
    );
  }

  /** The drive has stopped. */
  stopped(stop: Stop = { kind: "left" }): void {
    for (const key of this.#attempts.keys()) this.#endAttempt(key, "dropped", this.#host.world.now());
    if (stop.kind === "blocked") this.blocked(stop.error);
    const { end, summary } = this.#journal.state;
    const { status } = summary;
    const ended = status === "completed" || status === "failed" || status === "cancelled";
    const outcome = ended
      ? status
      : stop.kind === "suspended" || stop.kind === "blocked" || stop.kind === "continued"
        ? stop.kind
        : "running";
    const event: RunStop = {
      ...this.#event(this.#host.world.now()),
      outcome,
      startedAt: this.#startedAt,
      replayed: this.#replayed,
      appends: this.#journal.position - this.#length,
      ...("error" in stop ? { error: stop.error } : this.#errorOf(end)),
    };
    for (const onStop of this.#onStop) onStop(event);
  }

  blocked(error: DurableError, runId = this.#journal.runId): void {
    this.#emit("onBlocked", () => ({ ...this.#event(this.#host.world.now()), runId, error }));
  }

  /** The run has ended. */
  ended(): void {
    const { end, summary } = this.#journal.state;
    if (end === null) return;
    const { createdAt, steps, status } = summary;
    this.#emit("onEnd", () => ({
      ...this.#event(end.at),
      createdAt,
      chapter: this.#journal.chapter,
      parent: parentOf(this.#journal, this.#host.driving),
      outcome: status as "completed" | "failed" | "cancelled",
      ...this.#errorOf(end),
      steps,
    }));
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
    if (!this.#starts.has(entry.key)) return;
    this.#wait(entry, outcomeOf(entry), replayed);
    this.#starts.delete(entry.key);
  }

  #wait(entry: Called, outcome: EventOf<"onWait">["outcome"], replayed: boolean): void {
    const { key, at } = entry;
    this.#emit("onWait", () => ({
      ...this.#event(at),
      key,
      kind: kindOf(entry),
      openedAt: outcome === "open" ? at : (this.#starts.get(key) ?? at),
      endedAt: outcome === "open" ? null : at,
      outcome,
      ...this.#errorOf(entry),
      child: this.#journal.state.children.get(key)?.opened.child ?? null,
      replayed,
    }));
  }

  #step(entry: Attempted, replayed: boolean): void {
    const { key, at, attempt } = entry;
    this.#emit("onStep", () => ({
      ...this.#event(at),
      key,
      kind: kindOf(entry),
      attempt,
      startedAt: attempt === 1 ? entry.startedAt : (this.#starts.get(key) ?? entry.startedAt),
      endedAt: at,
      outcome: entry.kind.endsWith("failed") ? "failed" : "completed",
      ...this.#errorOf(entry),
      usage: usageOf(entry),
      replayed,
    }));
  }

  attempt<R>(started: Pick<AttemptEvent, "key" | "kind" | "attempt" | "startedAt">, work: () => R): R {
    if (this.#hooks.every(({ onAttempt }) => onAttempt === undefined)) return work();
    const { key, kind, attempt, startedAt } = started;
    const event: AttemptEvent = { ...this.#event(startedAt), key, kind, attempt, startedAt };
    const end = Promise.withResolvers<AttemptEnd>();
    const { runAs, ownerNow } = this.#host;
    const owner = ownerNow() ?? noOwner;
    let done: { readonly result: R } | null = null;
    // The hooks run outside of the run, and the work inside of it again.
    const once = (): Promise<AttemptEnd> => {
      done ??= { result: runAs(owner, work) };
      return end.promise;
    };
    const arounds: ((inner: () => Promise<AttemptEnd>) => () => Promise<AttemptEnd>)[] = [];
    this.#emit(
      "onAttempt",
      () => event,
      (around, hooks) => {
        if (typeof around === "function")
          arounds.unshift((inner) => this.#around(hooks, around as AroundAttempt, inner));
      },
    );
    this.#attempts.set(key, { event, end });
    void arounds.reduce((inner, around) => around(inner), once)();
    return (done as unknown as { readonly result: R }).result;
  }

  #around(hooks: Hooks, around: AroundAttempt, inner: () => Promise<AttemptEnd>): () => Promise<AttemptEnd> {
    return () => {
      const state = { called: false };
      let end: Promise<AttemptEnd> | null = null;
      const work = (): Promise<AttemptEnd> => {
        state.called = true;
        return (end ??= inner());
      };
      this.#call(hooks, "onAttempt", () => around(work));
      if (!state.called) this.#failed(hooks, "onAttempt", new Error("It did not call the work that it got."));
      return work();
    };
  }

  #endAttempt(key: string, outcome: AttemptEnd["outcome"], endedAt: number, entry?: Attempted): void {
    const open = this.#attempts.get(key);
    if (open === undefined) return;
    this.#attempts.delete(key);
    const { event, end } = open;
    const retryAt = entry?.kind === "attempt.failed" ? entry.retryAt : null;
    const usage = entry === undefined ? [] : usageOf(entry);
    end.resolve({ ...event, at: endedAt, endedAt, outcome, ...this.#errorOf(entry), usage, retryAt });
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

  #event(at: number): HookEvent {
    return { ...this.#run, at };
  }

  #errorOf(entry: Entry | null | undefined): { readonly error?: unknown } {
    if (entry === null || entry === undefined || !("error" in entry)) return {};
    try {
      return { error: this.#host.decode(entry.error, `error of run ${this.#run.runId}`) };
    } catch (error) {
      return { error };
    }
  }

  /** Calls one kind of hook of each set; the event is made only if there is one. */
  #emit<N extends HookName>(
    name: N,
    event: () => EventOf<N>,
    returned: (value: unknown, hooks: Hooks) => void = () => {},
  ): void {
    let made: EventOf<N> | undefined;
    for (const hooks of this.#hooks) {
      const hook = hooks[name] as ((event: EventOf<N>) => unknown) | undefined;
      if (hook === undefined) continue;
      const value = this.#call(hooks, name, () => hook((made ??= event())));
      returned(value, hooks);
    }
  }

  #call(hooks: Hooks, name: HookName, hook: () => unknown): unknown {
    try {
      const value = this.#host.runAs(noOwner, hook);
      if (value instanceof Promise) value.catch((error: unknown) => this.#failed(hooks, name, error));
      return value;
    } catch (error) {
      this.#failed(hooks, name, error);
      return undefined;
    }
  }

  #failed(hooks: Hooks, name: HookName, error: unknown): void {
    const known = reported.get(hooks) ?? new Set();
    reported.set(hooks, known);
    if (known.has(name)) return;
    known.add(name);
    this.#host.world.warn(
      `the hook ${name} failed; runs go on, and it is not reported again: ${String(error)}`,
    );
  }
}
