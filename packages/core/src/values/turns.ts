/** Does pieces of work one at a time, in the order in which they come. */
export class Turns {
  #last: Promise<void> | null = null;

  /** Does the work when all before it is done; at once, if there is none. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last === null ? work() : this.#last.then(work);
    const done = (): void => {
      if (this.#last === last) this.#last = null;
    };
    const last = result.then(done, done);
    this.#last = last;
    return result;
  }

  get idle(): boolean {
    return this.#last === null;
  }

  /** Resolves when all work that was taken so far is done. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
