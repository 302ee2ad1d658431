/** Counts work that will lead to an append: bodies of steps, and answers that are being validated. */

export class InFlight {
  readonly #changed: () => void;
  #work = 0;
  #verdicts = 0;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get idle(): boolean {
    return this.#work + this.#verdicts === 0;
  }

  /** A recorded answer is being validated. */
  get judging(): boolean {
    return this.#verdicts > 0;
  }

  /** Counts one more; the returned function counts it off, once. */
  begin(what: "work" | "verdict"): () => void {
    const count = (by: 1 | -1): void => {
      if (what === "work") this.#work += by;
      else this.#verdicts += by;
    };
    let over = false;
    count(1);
    return () => {
      if (over) return;
      over = true;
      count(-1);
      this.#changed();
    };
  }
}
