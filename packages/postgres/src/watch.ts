/**
 * Callers that wait in `changed` until a journal has grown. Appends of this process and notifications release them at
 * once; what neither announces (steps of a run that another process drives) is found by polling.
 *
 * watch.1. The timer runs only while a caller waits. One query asks for all of them, and at most one is under way.
 * watch.2. A waiting caller is released exactly once: the journal has grown, the call was aborted, the storage was closed,
 *     or the database cannot be read.
 */

interface Watcher {
  readonly locator: string;
  readonly length: number;
  readonly done: () => void;
}

const [shortestPollMs, longestPollMs] = [50, 500];

export class Watch {
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #lengthsOf: (locators: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  /** Locators to ask for next; `null` while no query is under way. */
  #asked = new Set<string>();
  #asking = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #pollMs = shortestPollMs;

  constructor(lengthsOf: (locators: readonly string[]) => Promise<ReadonlyMap<string, number>>) {
    this.#lengthsOf = lengthsOf;
  }

  changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        this.#forget(watcher);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const watcher: Watcher = { locator, length, done };
      const known = this.#watchers.get(locator);
      if (known === undefined) this.#watchers.set(locator, new Set([watcher]));
      else known.add(watcher);
      signal.addEventListener("abort", done, { once: true });
      this.#timer ??= this.#poll();
      // Asked after the watcher is registered, so that no append is missed between the two.
      this.#ask([locator]);
    });
  }

  /** A journal has this many batches. */
  grown(locator: string, length: number): void {
    for (const watcher of this.#watchers.get(locator) ?? []) if (length > watcher.length) watcher.done();
  }

  /** Notifications may have been missed. */
  recheck(): void {
    this.#ask(this.#watchers.keys());
  }

  close(): void {
    for (const watchers of this.#watchers.values()) for (const { done } of watchers) done();
  }

  #forget(watcher: Watcher): void {
    const watchers = this.#watchers.get(watcher.locator);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#watchers.delete(watcher.locator);
    if (this.#watchers.size > 0 || this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#pollMs = shortestPollMs;
  }

  #poll(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#pollMs = Math.min(this.#pollMs * 1.5, longestPollMs);
      this.#timer = this.#poll();
      this.recheck();
    }, this.#pollMs);
  }

  #ask(locators: Iterable<string>): void {
    for (const locator of locators) this.#asked.add(locator);
    if (!this.#asking && this.#asked.size > 0) void this.#askNow();
  }

  async #askNow(): Promise<void> {
    this.#asking = true;
    // One turn later, so that callers of one turn share a query.
    await new Promise(setImmediate);
    while (this.#asked.size > 0) {
      const locators = [...this.#asked].filter((locator) => this.#watchers.has(locator));
      this.#asked = new Set();
      if (locators.length === 0) continue;
      try {
        for (const [locator, length] of await this.#lengthsOf(locators)) this.grown(locator, length);
      } catch {
        // Release the callers: their next read reports the error.
        for (const locator of locators) this.grown(locator, Infinity);
      }
    }
    this.#asking = false;
  }
}
