/** A part of a workflow with its own space of keys: the whole run, or one branch of a group. */

import { DurableError } from "../values/errors.ts";
import { assertName } from "../journal/keys.ts";
import { limits } from "../values/limits.ts";
import { snapshot, type InContext } from "../ports/async-context.ts";

/** `abandoned`: the run does not wait for work that is still running in the scope. */
export type Closing = "closed" | "abandoned";
type Closer = (how: Closing) => void;

export class Scope {
  readonly path: string;
  readonly parent: Scope | null;
  readonly #counts = new Map<string, number>();
  readonly #open = new Map<string, number>();
  readonly #branches = new Set<Scope>();
  readonly #closers = new Set<Closer>();
  #abort: AbortController | null = null;
  /** Where the signal was first read: an error of a listener belongs to that code. */
  #inContext: InContext | null = null;
  #reason: { readonly value: unknown } | null = null;
  #closed = false;
  /** Of the recorded calls that the code has asked for here: when the latest was first made. */
  past = -1;

  constructor(path = "", parent: Scope | null = null) {
    this.path = path;
    this.parent = parent;
    this.#reason = parent === null ? null : parent.#reason;
  }

  /** Created on first use, because most scopes never read it. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      this.#inContext = snapshot();
      if (this.#reason !== null) this.#abort.abort(this.#reason.value);
    }
    return this.#abort.signal;
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get closed(): boolean {
    return this.#closed || (this.parent?.closed ?? false);
  }

  /** Assigned before any await, so that concurrent calls get the same keys on replay. */
  key(name: string, what: () => string): { readonly key: string; readonly count: number } {
    // Checked when it is new: a loop uses one name many times.
    if (!this.#counts.has(name)) assertName(name, what());
    const count = this.count(name);
    return { key: this.keyOf(name, count), count };
  }

  /** How often a name has been used in this scope, this time included. */
  count(name: string): number {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count;
  }

  /** Notes that a call of this name was made or answered; returns how many are open. */
  flight(name: string, by: 1 | 0 | -1): number {
    const open = (this.#open.get(name) ?? 0) + by;
    if (by !== 0) this.#open.set(name, open);
    return open;
  }

  keyOf(name: string, count: number): string {
    const key = `${this.path === "" ? "" : `${this.path}/`}${name}${count === 1 ? "" : `#${count}`}`;
    if (key.length <= limits.keyLength) return key;
    throw new DurableError(
      "limit",
      `The key "${key.slice(0, 80)}..." is longer than ${limits.keyLength} characters. Use shorter names.`,
    );
  }

  branch(group: string, name: string): Scope {
    return this.inner(`${group}[${name}]`);
  }

  /** A scope for the calls that belong to one key. */
  inner(path: string): Scope {
    const inner = new Scope(path, this);
    this.#branches.add(inner);
    return inner;
  }

  /** Calls in this scope no longer get an answer. */
  close(how: Closing): void {
    this.#closed = true;
    this.#tellClosers(how);
  }

  /** The branch function has returned, so nothing in this scope needs to be aborted or closed. */
  leave(): void {
    // Work that is still open must be aborted by a later cancellation.
    for (const open of this.#open.values()) if (open > 0) return;
    if (this.parent !== null) this.parent.#branches.delete(this);
  }

  #tellClosers(how: Closing): void {
    for (const closer of this.#closers) closer(how);
    this.#closers.clear();
    for (const branch of this.#branches) branch.#tellClosers(how);
  }

  /** Calls `closer` when this scope, or one around it, is closed; returns a function that removes it. */
  whenClosed(closer: Closer): () => void {
    this.#closers.add(closer);
    return () => this.#closers.delete(closer);
  }

  abort(reason: unknown): void {
    if (this.#reason !== null) return;
    this.#reason = { value: reason };
    this.#inContext?.(() => this.#abort?.abort(reason));
    for (const branch of this.#branches) branch.abort(reason);
  }
}
