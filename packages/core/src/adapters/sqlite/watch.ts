/**
 * Notifies waiting callers that a journal has grown: at once for writes of this process, by polling for others.
 *
 * watch.1. The timer runs only while a caller waits, and throws nothing.
 * watch.2. A waiting caller is released exactly once: the journal has grown, the call was aborted, the storage was closed,
 *     or the file can no longer be read.
 */

interface Watcher {
  readonly locator: string;
  readonly length: number;
  readonly done: () => void;
}

const pollMs = 50;

export class Watch {
  /** By run, so that an append compares those of its own run only, however many others wait. */
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #lengthOf: (locator: string) => number;
  readonly #version: () => number;
  #timer: ReturnType<typeof setInterval> | null = null;
  #seen = -1;

  /** `version` changes when another connection has written. */
  constructor(lengthOf: (locator: string) => number, version: () => number) {
    this.#lengthOf = lengthOf;
    this.#version = version;
  }

  changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        watchers.delete(watcher);
        if (watchers.size === 0) this.#watchers.delete(locator);
        signal.removeEventListener("abort", done);
        if (this.#watchers.size === 0) this.#stop();
        resolve();
      };
      const watcher: Watcher = { locator, length, done };
      const watchers = this.#watchers.get(locator) ?? new Set();
      this.#watchers.set(locator, watchers.add(watcher));
      signal.addEventListener("abort", done, { once: true });
      this.#timer ??= setInterval(() => this.#poll(), pollMs);
      // Read after the watcher is registered, so that no append is missed between the two.
      this.#recheck([watcher]);
    });
  }

  /** This process has appended. */
  notify(locator: string, length: number): void {
    for (const watcher of this.#watchers.get(locator) ?? []) if (length > watcher.length) watcher.done();
  }

  close(): void {
    for (const watchers of this.#watchers.values()) for (const { done } of watchers) done();
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #poll(): void {
    try {
      const version = this.#version();
      if (version === this.#seen) return;
      this.#seen = version;
    } catch {
      // Whether anything changed is unknown, so check every watcher.
    }
    for (const watchers of this.#watchers.values()) this.#recheck(watchers);
  }

  #recheck(watchers: Iterable<Watcher>): void {
    for (const { locator, length, done } of watchers) {
      try {
        if (this.#lengthOf(locator) > length) done();
      } catch {
        // Release the caller: its next read reports the error.
        done();
      }
    }
  }
}
