/** What is under way and will lead to an append: bodies of steps, and answers being judged. */

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

  /** An answer that stands in the journal has no verdict yet. */
  get judging(): boolean {
    return this.#verdicts > 0;
  }

  /** Something begins; returns how to say, once, that it is over. */
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
