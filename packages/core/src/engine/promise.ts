/**
 * Promises with their resolvers. A rejection is marked as handled just before it happens: one that is awaited later is not
 * an unhandled rejection. Most promises never reject, and are spared the mark.
 */

import type { World } from "../ports/world.ts";

export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return {
    promise,
    resolve,
    reject: (thrown) => {
      promise.catch(nothing);
      reject(thrown);
    },
  };
}

function nothing(): void {}

/** The promise of a call. It notes whether the code has observed it. */
export class CallPromise<T> extends Promise<T> {
  observed = false;
}

// `await`, `then` and `Promise.all` read the constructor of a promise, and nothing else does.
void Object.defineProperty(CallPromise.prototype, "constructor", {
  get(this: CallPromise<unknown>) {
    this.observed = true;
    return Promise;
  },
});

export function callDeferred<T>(): Deferred<T> & { readonly promise: CallPromise<T> } {
  let settle!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const promise = new CallPromise<T>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  return {
    promise,
    resolve: settle,
    reject: (thrown) => {
      const { observed } = promise;
      promise.catch(nothing);
      promise.observed = observed;
      fail(thrown);
    },
  };
}

/** The promise of a suspended, closed or stopped call. It never settles, so no `catch` or `finally` sees it. */
export function pending<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

/** Wakes one listener. A `set` without a listener is kept for the next `wait`. */
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

  /** Waits up to `ms` for a `set` from now on; true when none came. */
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
