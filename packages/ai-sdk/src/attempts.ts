/**
 * Attempts of a call that its caller may abort. The engine's wait for the next attempt does not end when the caller's
 * signal aborts, so short waits are made here, inside of one attempt of the engine. Long ones stay with the engine,
 * which parks the run. Proven in test/differential.
 */

import { nextAttemptAt, retryPolicy } from "@durable/core/storage";
import type { Call } from "./call.ts";
import { abortedBy, callFailure } from "./errors.ts";

/** The longest wait that is not left to the engine. */
const longestMs = 60_000;

export class Attempts {
  readonly #call: Call;
  readonly #waits: boolean;
  /** No attempt follows the last failure. */
  exhausted = false;
  #failures = 0;

  /** `waits` is false where the recorder itself makes attempts that can be aborted. */
  constructor(call: Call, waits: boolean) {
    this.#call = call;
    // Each attempt takes a permit of its quota, so with one they are all the engine's.
    this.#waits = waits && call.signal !== undefined && call.options.quota === undefined;
  }

  /** The work, repeated after failures that a short wait may help. */
  async of<T>(stopped: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { signal } = this.#call;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const at = this.next(error);
        const failure = callFailure(error, signal);
        if (!this.#waits || at === null || at > longestMs || stopped.aborted) throw failure;
        if (!(await waited(at, [signal, stopped])))
          throw stopped.aborted ? failure : abortedInWait(signal?.reason);
      }
    }
  }

  /** Counts a failure. Milliseconds to the next attempt; `null` if none is made. */
  next(error: unknown): number | null {
    const { name, signal, options } = this.#call;
    this.#failures += 1;
    const failure = { error: callFailure(error, signal), attempt: this.#failures };
    const policy = retryPolicy(options.retry, name);
    const at = nextAttemptAt(policy, failure, { now: 0, random: Math.random() });
    this.exhausted = at === null;
    return at;
  }
}

/** As the SDK reports an abort between two attempts. */
function abortedInWait(reason: unknown): unknown {
  return abortedBy(new DOMException("Delay was aborted", "AbortError"), reason);
}

/** False when the wait was aborted. */
export function waited(ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<boolean> {
  if (signals.some((signal) => signal?.aborted === true)) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const stop = (): void => resolve(false);
  const timer = setTimeout(() => resolve(true), ms);
  for (const signal of signals) signal?.addEventListener("abort", stop, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    for (const signal of signals) signal?.removeEventListener("abort", stop);
  });
}
