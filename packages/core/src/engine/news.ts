/** What a journal has learned and the engine has not seen yet. */

import type { Entry } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";

export class News {
  readonly #journal: Pick<RunJournal, "nonce" | "entries">;
  /** The chapter that the engine drives. */
  readonly #nonce: string;
  #seen: number;

  constructor(journal: Pick<RunJournal, "nonce" | "entries">, seen: number) {
    this.#journal = journal;
    this.#nonce = journal.nonce;
    this.#seen = seen;
  }

  /** The chapter is over: what is learned now belongs to another one. */
  get isOver(): boolean {
    return this.#journal.nonce !== this.#nonce;
  }

  get waits(): boolean {
    return this.#seen < this.#journal.entries.length;
  }

  take(): readonly Entry[] {
    if (this.isOver) return [];
    const fresh = this.#journal.entries.slice(this.#seen);
    this.#seen += fresh.length;
    return fresh;
  }
}
