/** What this process has read of the ancestors of forks, up to a limit; see ancestors.ts. */

import type { Entry } from "./entry.ts";

/** Characters of the batches that are kept, as a measure of memory. */
const mostText = 16 * 1024 * 1024;

interface Known {
  readonly entries: readonly Entry[];
  readonly text: number;
}

export class KnownAncestors {
  readonly #known = new Map<string, Known>();
  #text = 0;

  /** What is kept under a name that says run, incarnation and part. */
  get(part: string): readonly Entry[] | undefined {
    return this.#known.get(part)?.entries;
  }

  /** What was read first is dropped first. */
  keep(part: string, entries: readonly Entry[], batches: readonly string[]): void {
    this.#text -= this.#known.get(part)?.text ?? 0;
    const text = batches.reduce((length, batch) => length + batch.length, 0);
    this.#known.set(part, { entries, text });
    this.#text += text;
    for (const [oldest, { text: less }] of this.#known) {
      if (this.#text <= mostText) return;
      this.#known.delete(oldest);
      this.#text -= less;
    }
  }
}
