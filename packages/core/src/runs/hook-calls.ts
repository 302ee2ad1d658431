/** Calls hooks so that they cannot affect a run: observer.1. */

import type { Hooks, AttemptEnd, ParentOfRun } from "../engine/hooks.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Owner } from "../ports/async-context.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { World } from "../ports/world.ts";
import type { CallKind, Entry } from "../journal/entry.ts";

/**
 * What hooks need of a host and of the kernel. This file imports no code: what a part that is loaded later shares with the
 * kernel, bundlers put into a file of its own.
 */
export interface Observing {
  readonly decode: (json: Json, where: string) => unknown;
  readonly ownerNow: () => Owner | undefined;
  readonly runAs: <R>(owner: Owner, fn: () => R) => R;
  readonly leave: () => void;
  readonly world: World;
  /** Runs that this process drives now. */
  readonly driving: ReadonlyMap<string, { readonly journal: RunJournal }>;
}

type HookName = keyof Hooks;
type EventOf<N extends HookName> = Parameters<NonNullable<Hooks[N]>>[0];

/** Hooks that have failed, and were reported. */
const reported = new WeakMap<Hooks, Set<HookName>>();
const noOwner = undefined as unknown as Owner;

export class HookCalls {
  readonly #host: Observing;
  readonly sets: readonly Hooks[];
  /** Which hooks there are, so that no event is made for nothing. */
  readonly wanted: Readonly<Record<HookName, boolean>>;

  /** A promise that a hook may return and that does not reject. */
  ours: Promise<unknown> | null = null;

  constructor(host: Observing, sets: readonly Hooks[]) {
    this.#host = host;
    this.sets = sets;
    const wants = (name: HookName): boolean => sets.some((one) => one[name] !== undefined);
    this.wanted = {
      onRun: wants("onRun"),
      onStep: wants("onStep"),
      onAttempt: wants("onAttempt"),
      onWait: wants("onWait"),
      onEnd: wants("onEnd"),
      onBudget: wants("onBudget"),
      onBlocked: wants("onBlocked"),
    };
  }

  emit<N extends HookName>(name: N, event: EventOf<N>): void {
    for (let i = 0; i < this.sets.length; i++) {
      const hooks = this.sets[i] as Hooks;
      this.call(hooks, name, hooks[name] as ((event: EventOf<N>) => unknown) | undefined, event);
    }
  }

  /** Calls a hook, or what a hook has returned. */
  call<E>(hooks: Hooks, name: HookName, hook: ((given: E) => unknown) | undefined, given: E): unknown {
    if (hook === undefined) return undefined;
    try {
      const { ownerNow, runAs } = this.#host;
      const value = ownerNow() === undefined ? hook(given) : runAs(noOwner, () => hook(given));
      if (value instanceof Promise && value !== this.ours)
        value.catch((error: unknown) => this.failed(hooks, name, error));
      return value;
    } catch (error) {
      this.failed(hooks, name, error);
      return undefined;
    }
  }

  failed(hooks: Hooks, name: HookName, error: unknown): void {
    const known = reported.get(hooks) ?? new Set();
    reported.set(hooks, known);
    if (known.has(name)) return;
    known.add(name);
    const what = `the hook ${name} failed; runs go on, and it is not reported again`;
    this.#host.world.warn(`${what}: ${String(error)}`);
  }
}

export type Attempted = Extract<Entry, { readonly startedAt: number }>;
export type Called = Extract<Entry, { readonly key: string }>;

/** The end of one attempt of a step or stream. */
export function isAttempt<E extends Entry>(entry: E): entry is E & Attempted {
  return "startedAt" in entry;
}

/** A wait is opened; groups are not waits. */
export function isOpening(entry: Called): boolean {
  return entry.kind.endsWith(".opened") && !("branches" in entry);
}

/** What ends a suspend point, a sleep or a child. */
export const endsWait = /\.(fired|resolved|expired|completed|failed|closed)$/;

/** The kind of a call is the first part of the names of its entries. */
export function kindOf({ kind }: Called): CallKind {
  return kind.slice(0, kind.indexOf(".")) as CallKind;
}

export function outcomeOf({ kind }: Attempted): AttemptEnd["outcome"];
export function outcomeOf({ kind }: Called): "completed" | "failed" | "expired" | "closed";
export function outcomeOf({ kind }: Called): string {
  if (kind === "attempt.failed") return "retried";
  const last = kind.slice(kind.indexOf(".") + 1);
  return last === "failed" || last === "expired" || last === "closed" ? last : "completed";
}

/**
 * A nonce tells incarnations and chapters apart. The id of a child is unique already, and its parent knows it before the
 * child has a nonce.
 */
export function seedOf({ runId, nonce, childOf, chapter }: RunJournal): string {
  return childOf !== undefined && chapter === 1 ? runId : `${runId} ${nonce}`;
}

/** The run that a fork or a child comes from. The nonce of a child's parent is known only where both are driven. */
export function parentOf(
  { first, childOf, state }: RunJournal,
  driving: ReadonlyMap<string, { readonly journal: RunJournal }>,
): ParentOfRun | null {
  if (childOf !== undefined) {
    const { runId, key } = childOf;
    const above = driving.get(runId)?.journal;
    return { kind: "child", runId, key, seed: above === undefined ? null : seedOf(above) };
  }
  const { parent } = state.summary;
  if (parent === null) return null;
  const ancestry = first.kind === "run.forked" ? first.ancestry : [];
  const nonce = ancestry.findLast(({ runId }) => runId === parent)?.nonce;
  return { kind: "fork", runId: parent, key: null, seed: nonce === undefined ? null : `${parent} ${nonce}` };
}

/** A step began with its first attempt. */
export function noteStart(began: Map<string, number> | null, { key, startedAt }: Attempted): void {
  if (began?.has(key) === false) began.set(key, startedAt);
}

/** Copies, because the journal keeps its own. */
export function usageOf(entry: Attempted | undefined): AttemptEnd["usage"] {
  return entry?.usage === undefined ? noUsage : entry.usage.map((used) => ({ ...used }));
}

const noUsage: AttemptEnd["usage"] = Object.freeze([]);
