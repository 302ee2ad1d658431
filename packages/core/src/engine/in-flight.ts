/** Counts work that will lead to an append: bodies of steps, and answers that are being validated. */

export class InFlight {
  readonly changed: () => void;
  #count = 0;

  constructor(changed: () => void) {
    this.changed = changed;
  }

  get idle(): boolean {
    return this.#count === 0;
  }

  /** Counts one more; the returned function counts it off, once. */
  begin(): () => void {
    let over = false;
    this.#count += 1;
    return () => {
      if (over) return;
      over = true;
      this.#count -= 1;
      this.changed();
    };
  }
}
