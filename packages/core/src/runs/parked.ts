/**
 * Parked runs whose function is still in memory: what comes for them in this process costs no replay.
 *
 * Y1. At most `limit` runs are kept; the one parked longest ago goes first.
 * Y2. One life, one borrower: a run is lent, then claimed or given back, and nobody else touches it meanwhile.
 * Y3. A life that missed what another driver wrote is dropped: the journal is read and replayed as ever.
 */

import type { Definition } from "../engine/definition.ts";
import type { ChildTold } from "../engine/child-runs.ts";
import type { Hold } from "../engine/lease.ts";
import type { AdvanceOptions, AtEdge, Stop } from "../engine/options.ts";
import type { Journal } from "../journal/journal.ts";

/** A life that may be parked. */
export interface Parked {
  readonly definition: Definition;
  readonly journal: Journal;
  readonly hold: Hold;
  /** False when the code itself went on meanwhile. */
  readonly parked: boolean;
  /** Goes on by itself. */
  revive(): void;
  /** Records how a child of the run ends; false when this life cannot. */
  tell(told: ChildTold): Promise<boolean>;
  drive(given: { atEdge?: AtEdge | undefined; options: AdvanceOptions }): Promise<Stop>;
}

/** Longer journals are not kept: memory is bounded by what runs hold, not by their number alone. */
const longestKept = 10_000;

export class WarmRuns {
  readonly #limit: number;
  readonly #kept = new Map<string, Parked>();
  readonly #lent = new Map<Journal, Parked>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A life has been parked. */
  keep(life: Parked): void {
    const { locator, entries, state } = life.journal;
    if (this.#limit === 0 || entries.length > longestKept || state.end !== null) return;
    this.#kept.delete(locator);
    this.#kept.set(locator, life);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#limit && oldest !== undefined) this.#kept.delete(oldest);
  }

  /** Lends the journal of a parked life, brought up to date; `null` when there is none that can go on. */
  async lend(locator: string): Promise<Journal | null> {
    const life = this.#kept.get(locator);
    if (life === undefined) return null;
    this.#kept.delete(locator);
    const { journal } = life;
    this.#lent.set(journal, life);
    try {
      const entries = await journal.look();
      if (!journal.deleted && entries.every(({ outside }) => outside)) return journal;
    } catch {
      // Whatever it is, reading from the start will meet it again, and say it.
    }
    this.#lent.delete(journal);
    return null;
  }

  /** The life behind a journal that was lent. */
  lent(journal: Journal): Parked | undefined {
    return this.#lent.get(journal);
  }

  /** The life is driven on now, or dropped: it is no longer ours. */
  claim(journal: Journal): Parked | undefined {
    const life = this.#lent.get(journal);
    this.#lent.delete(journal);
    return life;
  }

  /** Nobody drove it: it stays as it was. */
  giveBack(journal: Journal): void {
    const life = this.claim(journal);
    if (life?.parked === true) this.keep(life);
    else life?.revive();
  }

  /** Its code went on by itself: true when nobody has borrowed it, and whoever asks drives it. */
  wakes(life: Parked): boolean {
    if (this.#lent.has(life.journal)) return false;
    this.#kept.delete(life.journal.locator);
    return true;
  }
}
