/** A promise with its handles, already handled: a failure nobody awaits yet is no unhandled rejection. */

import type { World } from "../ports/world.ts";

export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** What a suspended, closed or stopped call returns: it never settles, so no catch or finally sees it. */
export function pending<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

/** One listener, woken by any number of rings; a ring while nobody listens is kept. */
export class Signal {
  #isSet = false;
  #wake: (() => void) | null = null;

  set(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  async wait(): Promise<void> {
    if (!this.#isSet) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#isSet = false;
    this.#wake = null;
  }

  /** Waits for a ring from now on, for so long; true when none came. */
  async silence(world: World, ms: number): Promise<boolean> {
    let over = false;
    const cancel = world.timer(ms, () => {
      over = true;
      this.set();
    });
    this.#isSet = false;
    await this.wait();
    cancel();
    return over;
  }
}
