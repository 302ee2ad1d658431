/**
 * Journals that this process has lately written to from outside: the next message or answer to such a run, or the drive that
 * follows, reads what is new, and not the whole chapter.
 *
 * At most `limit` journals are kept, of at most `mostText` characters together; the one that was used longest ago
 * is dropped first.
 * A journal is brought up to date before it is used. One that cannot be is dropped and opened anew, so that the
 * caller sees the run as any other process does.
 * A journal has one user at a time: it is taken out, and kept again after its use. A driver that takes it does
 * not return it.
 */

import type { RunJournal } from "../journal/journal.ts";

const mostText = 16 * 1024 * 1024;

export class RecentJournals {
  readonly #limit: number;
  readonly #kept = new Map<string, RunJournal>();
  /** The run of the latest call of `takeOrOpen`. */
  #latest = "";

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes out the journal of a run, brought up to date; `null` when there is none. */
  async take(locator: string): Promise<RunJournal | null> {
    const journal = this.#kept.get(locator);
    if (journal === undefined) return null;
    this.#kept.delete(locator);
    try {
      await journal.refresh();
    } catch {
      // The caller opens the journal anew, and reports the same error if it is still there.
      return null;
    }
    return journal.exists ? journal : null;
  }

  /**
   * The same, for a caller that needs little of a journal. One that comes to a run twice in a row may come often, so the
   * journal is opened.
   */
  async takeOrOpen(locator: string, open: () => Promise<RunJournal | null>): Promise<RunJournal | null> {
    const isSame = this.#limit > 0 && this.#latest === locator;
    this.#latest = locator;
    return (await this.take(locator)) ?? (isSame ? open() : null);
  }

  /** Keeps a journal, unless its run has ended. */
  keep(journal: RunJournal): void {
    if (this.#limit === 0 || !journal.exists || journal.state.end !== null) return;
    this.#kept.set(journal.locator, journal);
    let text = 0;
    for (const { size } of this.#kept.values()) text += size;
    for (const [oldest, { size }] of this.#kept) {
      if (this.#kept.size <= this.#limit && text <= mostText) return;
      this.#kept.delete(oldest);
      text -= size;
    }
  }
}
