/** Callers that wait until a journal grows. Proven by the conformance suite. */

export class Watchers {
  readonly #waiting = new Map<string, Set<() => void>>();

  notify(locator: string): void {
    for (const notify of this.#waiting.get(locator) ?? []) notify();
  }

  /** Resolves when `isLonger` is true, which is asked now and at each `notify`; or on abort. */
  changed(locator: string, isLonger: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || isLonger()) return resolve();
      const waiting = this.#waiting.get(locator) ?? new Set();
      this.#waiting.set(locator, waiting);
      const done = (): void => {
        waiting.delete(notify);
        if (waiting.size === 0) this.#waiting.delete(locator);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const notify = (): void => {
        if (isLonger()) done();
      };
      waiting.add(notify);
      signal.addEventListener("abort", done, { once: true });
    });
  }
}
