/**
 * Answers that are being checked.
 *
 * verdicts.1. Verdicts are written in the order in which the answers were recorded, however long each check takes.
 * verdicts.2. While one is pending, no timer and no result is written: the answer was recorded before them.
 */

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

  /** Writes the verdicts that are known and have no earlier one before them. */
  flush(): void {
    if (!this.pending) return;
    for (const answer of [...this.#open.keys()].toSorted((a, b) => a - b)) {
      const write = this.#open.get(answer)?.write ?? null;
      if (write === null) return;
      this.drop(answer);
      write();
    }
  }
}
