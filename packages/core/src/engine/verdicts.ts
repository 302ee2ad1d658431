/**
 * Answers that are being checked.
 *
 * verdicts.1. Verdicts are written in the order in which the answers were recorded, however long each check takes.
 * verdicts.2. While one is pending, no timer and no result is written: the answer was recorded before them.
 */

import { Heap } from "./heap.ts";

interface Verdict {
  /** Writes the verdict; `null` until the answer is checked. */
  write: (() => void) | null;
  readonly over: () => void;
}

export class Verdicts {
  readonly #inFlight: InFlight;
  /** By the position of the answer. */
  readonly #open = new Map<number, Verdict>();
  /** The same positions, the lowest first. One that was dropped stays until it comes first. */
  readonly #order = new Heap<number>();

  constructor(inFlight: InFlight) {
    this.#inFlight = inFlight;
  }

  get pending(): boolean {
    return this.#open.size > 0;
  }

  /** Checks the answer at a position; `check` gives the function that writes the verdict, and never rejects. */
  judge(answer: number, check: Promise<() => void>): void {
    const verdict: Verdict = { write: null, over: this.#inFlight.begin() };
    this.#open.set(answer, verdict);
    this.#order.push(answer, answer);
    void check.then((write) => {
      verdict.write = write;
      this.#inFlight.changed();
    });
  }

  /** The wait is closed, so its answer needs no verdict. */
  drop(answer: number): void {
    this.#open.get(answer)?.over();
    this.#open.delete(answer);
  }

  /** Writes the verdicts that are known and have no earlier one before them; a refusal may lead to the next answer. */
  flush(): void {
    for (let first = this.#order.first; first !== undefined; first = this.#order.first) {
      const verdict = this.#open.get(first.item);
      if (verdict?.write === null) return;
      this.#order.pop();
      this.drop(first.item);
      verdict?.write();
    }
  }
}

export class InFlight {
  readonly changed: () => void;
  #count = 0;
  #kept = 0;
  /** How many of them wait for the code itself. */
  resting = 0;

  constructor(changed: () => void) {
    this.changed = changed;
  }

  get idle(): boolean {
    return this.#count === this.resting;
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
