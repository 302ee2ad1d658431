/** Does pieces of work one at a time, in the order in which they come. */
export class Turns {
  #last: Promise<void> | null = null;

  /** Does the work when all before it has ended; at once, if there is none. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last === null ? work() : this.#last.then(work);
    const ended = (): void => {
      if (this.#last === last) this.#last = null;
    };
    const last = result.then(ended, ended);
    this.#last = last;
    return result;
  }

  get idle(): boolean {
    return this.#last === null;
  }

  /** Resolves when all work that was taken so far has ended. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
