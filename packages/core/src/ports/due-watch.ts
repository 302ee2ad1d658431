/**
 * Workers that wait in `whenDue`. The storage notifies them of its own writes; one timer per worker waits for the time at
 * which a run is due next.
 *
 * due-watch.1. A waiting worker is released exactly once: a run is due or may be, the call was aborted, the storage was
 *     closed, or it can no longer say when a run is due. Nothing of it is left: no timer, no listener.
 * due-watch.2. A timer that fires too early is armed again: what it waits for may have moved.
 */

import type { RunHead } from "./storage.ts";

export interface DueSource {
  now(): number;
  timer(ms: number, fire: () => void): () => void;
  /** When one of these runs is due next: not after `now` when one is due; `null` when none has a time. */
  nextDue(of: DueRuns): number | null;
}

/** Which runs a worker waits for. */
export interface DueRuns {
  readonly workflow: readonly string[];
  /** Of any version when it is missing. */
  readonly version?: readonly string[] | undefined;
}

interface Waiter extends DueRuns {
  readonly done: () => void;
  /** For when the timer is armed; `Infinity` without one. */
  at: number;
  cancel: () => void;
}

/** A clock that stands still, or two that differ by less than this, must not make a timer spin. */
const shortestMs = 5;

export class DueWatch {
  readonly #waiters = new Set<Waiter>();
  readonly #source: DueSource;

  constructor(source: DueSource) {
    this.#source = source;
  }

  /** How many workers wait. */
  get size(): number {
    return this.#waiters.size;
  }

  whenDue({ workflow, version }: DueRuns, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        this.#waiters.delete(waiter);
        waiter.cancel();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const waiter: Waiter = { workflow, version, done, at: Infinity, cancel: () => {} };
      this.#waiters.add(waiter);
      signal.addEventListener("abort", done, { once: true });
      // Asked after the worker is registered, so that no write is missed between the two.
      this.#recheck(waiter);
    });
  }

  /** A run may be due at this time. */
  notify({ workflow, version }: Pick<RunHead, "workflow" | "version">, at: number): void {
    for (const waiter of this.#waiters)
      if (waiter.workflow.includes(workflow) && waiter.version?.includes(version as string) !== false) {
        if (at <= this.#source.now()) waiter.done();
        else this.#arm(waiter, at);
      }
  }

  /** Some run may be due earlier than was known. */
  recheck(): void {
    for (const waiter of this.#waiters) this.#recheck(waiter);
  }

  /** Releases all workers. */
  close(): void {
    for (const { done } of this.#waiters) done();
  }

  #recheck(waiter: Waiter): void {
    let next: number | null;
    try {
      next = this.#source.nextDue(waiter);
    } catch {
      // Release the worker: its next claim or list reports the error.
      return waiter.done();
    }
    if (next === null) return;
    if (next <= this.#source.now()) waiter.done();
    else this.#arm(waiter, next);
  }

  /** Arms the timer of a worker, unless it fires before that time anyway. */
  #arm(waiter: Waiter, at: number): void {
    if (at >= waiter.at) return;
    waiter.cancel();
    waiter.at = at;
    waiter.cancel = this.#source.timer(Math.max(at - this.#source.now(), shortestMs), () => {
      waiter.at = Infinity;
      this.#recheck(waiter);
    });
  }
}
