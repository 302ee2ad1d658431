/**
 * Tells who waits for a journal that it has grown: at once for this process's writes, by polling for others'.
 *
 * watch.1. The timer runs only while somebody waits, and nothing is thrown out of it.
 * watch.2. Who waits is let go exactly once: grown, aborted, closed, or the file cannot be asked any more.
 */

interface Watcher {
  readonly locator: string;
  readonly length: number;
  readonly done: () => void;
}

const pollMs = 50;

export class Watch {
  readonly #watchers = new Set<Watcher>();
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
        this.#watchers.delete(watcher);
        signal.removeEventListener("abort", done);
        if (this.#watchers.size === 0) this.#stop();
        resolve();
      };
      const watcher: Watcher = { locator, length, done };
      this.#watchers.add(watcher);
      signal.addEventListener("abort", done, { once: true });
      this.#timer ??= setInterval(() => this.#poll(), pollMs);
      // Read after the watcher stands, so that nothing falls between.
      this.#look([watcher]);
    });
  }

  /** This process has appended. */
  tell(locator: string, length: number): void {
    for (const watcher of this.#watchers)
      if (watcher.locator === locator && length > watcher.length) watcher.done();
  }

  close(): void {
    for (const { done } of this.#watchers) done();
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
      // Not to be told whether anything changed: look.
    }
    this.#look(this.#watchers);
  }

  #look(watchers: Iterable<Watcher>): void {
    for (const { locator, length, done } of watchers) {
      try {
        if (this.#lengthOf(locator) > length) done();
      } catch {
        // Whoever waits finds out by reading, which has a way to say why.
        done();
      }
    }
  }
}
