/**
 * Bodies that are running, in real time. Virtual time waits for them, so that a virtual time-out of thirty
 * seconds does not hit a request to a fake server. The wait has a limit, because a body that only an abort
 * can end would hang; such a body is not waited for again. Proven in test/kit-parts.test.ts.
 */

const { setTimeout: later, setImmediate: soon } = globalThis;

/** Turns of the event loop before a wait uses timers, which cost a millisecond each. */
const quickTurns = 50;

/** Tracks the bodies that are running, and waits for them in real time. */
export class Bodies {
  readonly #limitMs: number;
  readonly #running = new Map<symbol, string>();
  /** Keys of bodies that did not end within the limit. */
  readonly #hanging = new Set<string>();
  #ended = 0;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Tracks a body until its result settles. */
  run<T>(key: string, work: () => T): T {
    const id = Symbol(key);
    this.#running.set(id, key);
    const over = (): void => {
      this.#running.delete(id);
      this.#ended += 1;
    };
    try {
      const result = work();
      void Promise.resolve(result).then(over, over);
      return result;
    } catch (error) {
      over();
      throw error;
    }
  }

  /** Waits for a body to end; false at once when no body is running that may end by itself. */
  async wait(): Promise<boolean> {
    const waited = [...this.#running.values()].filter((key) => !this.#hanging.has(key));
    if (waited.length === 0) return false;
    const ended = this.#ended;
    for (let turns = 0; turns < quickTurns + this.#limitMs; turns++) {
      await new Promise<void>((resolve) => {
        if (turns < quickTurns) soon(resolve);
        else later(resolve, 1);
      });
      if (this.#ended !== ended) return true;
    }
    for (const key of waited) this.#hanging.add(key);
    return true;
  }

  /**
   * Settles when no body is left that may end by itself, so that the requests of a dead process have arrived.
   */
  async settled(): Promise<void> {
    while (await this.wait());
    this.#running.clear();
  }
}
