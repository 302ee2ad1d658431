/**
 * Parked runs whose function is still in memory: what comes for them in this process costs no replay.
 *
 * parked.1. At most `limit` runs are kept; the one parked longest ago goes first.
 * parked.2. One life, one borrower: a run is lent, then claimed or given back, and nobody else touches it meanwhile.
 * parked.3. A life that missed what another driver wrote is dropped: the journal is read and replayed as ever.
 */

import type { Definition } from "../engine/definition.ts";
import type { ChildEnd } from "../engine/child-runs.ts";
import type { DriverLease } from "../engine/lease.ts";
import type { AdvanceOptions, OnReplayEnd, Stop } from "../engine/stop.ts";
import type { RunJournal } from "../journal/journal.ts";

/** A life that may be parked. */
export interface Parked {
  readonly definition: Definition;
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  /** False when the code itself went on meanwhile. */
  readonly parked: boolean;
  /** Goes on by itself. */
  revive(): void;
  /** Records how a child of the run ends; false when this life cannot. */
  reportEnd(childEnd: ChildEnd): Promise<boolean>;
  drive(given: { onReplayEnd?: OnReplayEnd | undefined; options: AdvanceOptions }): Promise<Stop>;
}

/** Longer journals are not kept: memory is bounded by what runs hold, not by their number alone. */
const longestKept = 10_000;

export class ParkedRuns {
  readonly #limit: number;
  readonly #kept = new Map<string, Parked>();
  readonly #out = new Map<RunJournal, Parked>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A life has been parked. */
  keep(execution: Parked): void {
    const { locator, entries, state } = execution.journal;
    if (this.#limit === 0 || entries.length > longestKept || state.end !== null) return;
    this.#kept.delete(locator);
    this.#kept.set(locator, execution);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#limit && oldest !== undefined) this.#kept.delete(oldest);
  }

  /** Lends the journal of a parked life, brought up to date; `null` when there is none that can go on. */
  async checkOut(locator: string): Promise<RunJournal | null> {
    const execution = this.#kept.get(locator);
    if (execution === undefined) return null;
    this.#kept.delete(locator);
    const { journal } = execution;
    this.#out.set(journal, execution);
    try {
      const entries = await journal.refresh();
      if (!journal.deleted && entries.every(({ outside }) => outside)) return journal;
    } catch {
      // Whatever it is, reading from the start will meet it again, and say it.
    }
    this.#out.delete(journal);
    return null;
  }

  /** The life behind a journal that was lent. */
  checkedOut(journal: RunJournal): Parked | undefined {
    return this.#out.get(journal);
  }

  /** The life is driven on now, or dropped: it is no longer ours. */
  take(journal: RunJournal): Parked | undefined {
    const execution = this.#out.get(journal);
    this.#out.delete(journal);
    return execution;
  }

  /** Nobody drove it: it stays as it was. */
  checkIn(journal: RunJournal): void {
    const execution = this.take(journal);
    if (execution?.parked === true) this.keep(execution);
    else execution?.revive();
  }

  /** Its code went on by itself: true when nobody has borrowed it, and whoever asks drives it. */
  resumedItself(execution: Parked): boolean {
    if (this.#out.has(execution.journal)) return false;
    this.#kept.delete(execution.journal.locator);
    return true;
  }
}
