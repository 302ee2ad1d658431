/** Calls hooks so that they cannot affect a run: observer.1. */

import type { Hooks } from "../engine/hooks.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Owner } from "../ports/async-context.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { World } from "../ports/world.ts";

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
      onBlocked: wants("onBlocked"),
    };
  }

  emit<N extends HookName>(name: N, event: EventOf<N>): void {
    for (let i = 0; i < this.sets.length; i++) {
      const hooks = this.sets[i] as Hooks;
      this.call(hooks, name, hooks[name] as ((event: EventOf<N>) => unknown) | undefined, event);
    }
  }

  /** Calls a hook, or what a hook has returned. A promise of ours does not reject. */
  call<E>(
    hooks: Hooks,
    name: HookName,
    hook: ((given: E) => unknown) | undefined,
    given: E,
    ours?: Promise<unknown>,
  ): unknown {
    if (hook === undefined) return undefined;
    try {
      const { ownerNow, runAs } = this.#host;
      const value = ownerNow() === undefined ? hook(given) : runAs(noOwner, () => hook(given));
      if (value instanceof Promise && value !== ours)
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
