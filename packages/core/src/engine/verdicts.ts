/**
 * Answers that are being checked.
 *
 * verdicts.1. Verdicts are written in the order in which the answers were recorded, however long each check takes.
 * verdicts.2. While one is pending, no timer and no result is written: the answer was recorded before them.
 */

import { Heap } from "./heap.ts";
import type { InFlight } from "./in-flight.ts";

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
