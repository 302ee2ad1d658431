/** Tells who waits for a journal that it has grown: at once for this process's writes, by polling for others'. */

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
        if (this.#watchers.size === 0) this.stop();
        resolve();
      };
      const watcher: Watcher = { locator, length, done };
      this.#watchers.add(watcher);
      signal.addEventListener("abort", done, { once: true });
      // Read after the watcher stands, so that nothing falls between.
      if (this.#timer === null) this.#start();
      if (this.#lengthOf(locator) > length) done();
    });
  }

  /** This process has appended. */
  tell(locator: string, length: number): void {
    for (const watcher of this.#watchers)
      if (watcher.locator === locator && length > watcher.length) watcher.done();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  close(): void {
    for (const { done } of this.#watchers) done();
  }

  #start(): void {
    this.#seen = this.#version();
    this.#timer = setInterval(() => this.#poll(), pollMs);
  }

  #poll(): void {
    const version = this.#version();
    if (version === this.#seen) return;
    this.#seen = version;
    for (const { locator, length, done } of this.#watchers) if (this.#lengthOf(locator) > length) done();
  }
}
