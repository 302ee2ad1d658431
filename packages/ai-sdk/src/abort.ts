/**
 * Aborts of the caller, which are outcomes: what was aborted once is aborted again on replay, at the same place.
 *
 * A1. The SDK acts on its signal, and not only on the error of a call. On replay nothing aborts that signal: a
 *     time-out has not passed yet, and the person who pressed stop is gone. So the replay aborts it.
 * A2. A provider that ignores the signal does not hold the run.
 *
 * Proven in test/differential.
 */

/** How long a provider has to fail in its own words after an abort. */
const graceMs = 100;

/**
 * Aborts a signal whose controller is out of reach. Its state is shadowed, because only its controller can change it,
 * and its listeners are called.
 */
export function abortAgain(
  signal: AbortSignal | undefined,
  abort: { readonly reason: unknown } | null,
): void {
  if (abort === null || signal === undefined || signal.aborted) return;
  const { reason } = abort;
  const throwIfAborted = (): never => {
    throw reason;
  };
  for (const [key, value] of Object.entries({ aborted: true, reason, throwIfAborted }))
    Object.defineProperty(signal, key, { value, configurable: true });
  signal.dispatchEvent(new Event("abort"));
}

/** The promise, or a rejection with the reason of the signal if it has not settled soon after an abort. */
export async function orAborted<T>(promise: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const { promise: late, reject } = Promise.withResolvers<never>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = (): void => void (timer = setTimeout(() => reject(signal.reason), graceMs));
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
