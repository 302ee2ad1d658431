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
  ParentOfRun,
  RunStop,
} from "../engine/hooks.ts";
import { deferred, type Deferred } from "../engine/promise.ts";
import type { Stop } from "../engine/stop.ts";
import type { Entry } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { callKind, isSettlement, traitsOf, type Settlement } from "../journal/kinds.ts";
import { ownerNow, runAs, type Owner } from "../ports/async-context.ts";
import type { World } from "../ports/world.ts";
import type { Json } from "../values/codec/tags.ts";
import { decode } from "../values/codec/decode.ts";
import { DurableError, describeError } from "../values/errors.ts";

/** The parts of a host that hooks need. */
interface Observing {
  readonly world: World;
  /** Runs that this process drives now. */
  readonly driving: ReadonlyMap<string, { readonly journal: RunJournal }>;
}

/** Makes the observer of one drive. Without `recorded`, nothing is driven, and a single event is reported. */
export type Observe = (journal: RunJournal, recorded?: number) => DriveObserver;

type HookName = keyof Hooks;
type Attempted = Extract<Entry, { readonly startedAt: number }>;
type Called = Extract<Entry, { readonly key: string }>;
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
  readonly #attempts = new Map<string, { readonly event: AttemptEvent; readonly end: Deferred<AttemptEnd> }>();
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
        parent: this.#parent(),
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
  stopped(stop: Stop | { readonly kind: "left"; readonly error: unknown }): void {
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
      parent: this.#parent(),
      outcome: status as "completed" | "failed" | "cancelled",
      ...this.#errorOf(end),
      steps,
    }));
  }

  learned(entry: Entry): void {
    // Another driver reports what it wrote.
    if (this.#journal.lost) return;
    if (traitsOf(entry).ends === true) return this.ended();
    if (!("key" in entry)) return;
    if (isAttempt(entry)) {
      if (entry.kind === "attempt.failed") noteStart(this.#began, entry);
      this.#endAttempt(entry.key, outcomeOf(entry), entry.at, entry);
      if (isSettlement(entry)) this.#step(entry, entry.kept !== undefined);
    } else if (isOpening(entry)) {
      this.#began?.set(entry.key, entry.at);
      this.#wait(entry, "open", false);
    } else this.#waited(entry);
  }

  delivered(settlement: Settlement): void {
    const replayed = settlement.seq <= this.#recorded;
    if (replayed) this.#replayed += 1;
    if (!isAttempt(settlement)) this.#waited(settlement, replayed);
    else if (replayed) this.#step(settlement, true);
  }

  /** A wait has ended: from the record, or for the first time. */
  #waited(entry: Called, replayed = false): void {
    const { settles, call } = traitsOf(entry);
    if (settles !== true && !entry.kind.endsWith(".closed")) return;
    if (call === "step" || call === "stream" || !this.#starts.has(entry.key)) return;
    this.#wait(entry, outcomeOf(entry), replayed);
    this.#starts.delete(entry.key);
  }

  #wait(entry: Called, outcome: EventOf<"onWait">["outcome"], replayed: boolean): void {
    const { key, at } = entry;
    this.#emit("onWait", () => ({
      ...this.#event(at),
      key,
      kind: callKind(entry),
      openedAt: outcome === "open" ? at : (this.#starts.get(key) ?? at),
      endedAt: outcome === "open" ? null : at,
      outcome,
      ...this.#errorOf(entry),
      child: this.#journal.state.children.get(key)?.opened.child ?? null,
      replayed,
    }));
  }

  #step(entry: Attempted & Settlement, replayed: boolean): void {
    const { key, at, attempt } = entry;
    this.#emit("onStep", () => ({
      ...this.#event(at),
      key,
      kind: callKind(entry),
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
    const end = deferred<AttemptEnd>();
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
      if (isOpening(entry)) began.set(entry.key, entry.at);
      else if (entry.kind === "attempt.failed") noteStart(began, entry);
    }
    return began;
  }

  #event(at: number): HookEvent {
    return { ...this.#run, at };
  }

  #parent(): ParentOfRun | null {
    const { first, childOf, state } = this.#journal;
    if (childOf !== undefined) {
      const { runId, key } = childOf;
      const parent = this.#host.driving.get(runId)?.journal;
      return { kind: "child", runId, key, seed: parent === undefined ? null : seedOf(parent) };
    }
    const { parent } = state.summary;
    if (parent === null) return null;
    const ancestry = first.kind === "run.forked" ? first.ancestry : [];
    const nonce = ancestry.findLast(({ runId }) => runId === parent)?.nonce;
    return { kind: "fork", runId: parent, key: null, seed: nonce === undefined ? null : `${parent} ${nonce}` };
  }

  #errorOf(entry: Entry | null | undefined): { readonly error?: unknown } {
    if (entry === null || entry === undefined || !("error" in entry)) return {};
    try {
      return { error: decode(entry.error as Json, `error of run ${this.#run.runId}`) };
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
      const value = runAs(noOwner, hook);
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
      `the hook ${name} failed; runs go on, and it is not reported again: ${describeError(error)}`,
    );
  }
}

/** The end of one attempt of a step or stream. */
function isAttempt<E extends Entry>(entry: E): entry is E & Attempted {
  return "startedAt" in entry;
}

/** A wait is opened; groups are not waits. */
function isOpening(entry: Entry): entry is Called {
  return "key" in entry && entry.kind.endsWith(".opened") && !("branches" in entry);
}

function outcomeOf({ kind }: Attempted): AttemptEnd["outcome"];
function outcomeOf({ kind }: Called): "completed" | "failed" | "expired" | "closed";
function outcomeOf({ kind }: Called): string {
  if (kind === "attempt.failed") return "retried";
  const last = kind.slice(kind.indexOf(".") + 1);
  return last === "failed" || last === "expired" || last === "closed" ? last : "completed";
}

/**
 * A nonce tells incarnations and chapters apart. The id of a child is unique already, and its parent knows it before the
 * child has a nonce.
 */
function seedOf({ runId, nonce, childOf, chapter }: RunJournal): string {
  return nonce === null || (childOf !== undefined && chapter === 1) ? runId : `${runId} ${nonce}`;
}

/** A step began with its first attempt. */
function noteStart(began: Map<string, number> | null, { key, startedAt }: Attempted): void {
  if (began?.has(key) === false) began.set(key, startedAt);
}

/** Copies, because the journal keeps its own. */
function usageOf({ usage = [] }: Attempted): AttemptEnd["usage"] {
  return usage.map((used) => ({ ...used }));
}
