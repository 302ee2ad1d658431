/** Counts work that will lead to an append: bodies of steps, and answers that are being validated. */

export class InFlight {
  readonly changed: () => void;
  #count = 0;
  #kept = 0;

  constructor(changed: () => void) {
    this.changed = changed;
  }

  get idle(): boolean {
    return this.#count === 0;
  }

  /** Whatever is under way may be abandoned. */
  get abandonable(): boolean {
    return this.#kept === 0;
  }

  /** Counts one more, which is never abandoned if it is `kept`; the returned function counts it off, once. */
  begin(kept?: "kept"): () => void {
    const keep = kept === undefined ? 0 : 1;
    let over = false;
    this.#count += 1;
    this.#kept += keep;
    return () => {
      if (over) return;
      over = true;
      this.#count -= 1;
      this.#kept -= keep;
      this.changed();
    };
  }
}
