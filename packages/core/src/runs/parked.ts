/**
 * Parked runs whose function is still in memory: in this process they continue without a replay.
 *
 * parked.1. At most `limit` runs are kept, with journals of at most `mostText` characters together; the one that was
 *     parked first is dropped first.
 * parked.2. An execution has one user at a time: it is checked out, then taken or checked in, and not used by others
 *     in between. A user that was handed the execution returns nothing: others may have checked it out since.
 * parked.3. An execution that missed entries of another driver is dropped, and the journal is read and replayed.
 * parked.4. Code that continues by itself is driven once the drive before has given its lease back.
 */

import type { Driver } from "./admit.ts";
import type { Observe } from "./observer.ts";
import type { Definition } from "../engine/definition.ts";
import type { ChildEnd } from "../engine/child-runs.ts";
import type { DriverLease } from "../engine/lease.ts";
import type { OnReplayEnd, Stop } from "../engine/stop.ts";
import type { RunJournal } from "../journal/journal.ts";

/** An execution that may be parked. */
export interface Parked {
  readonly definition: Definition;
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  /** False when the code continued by itself after it was parked. */
  readonly parked: boolean;
  /** Hands the run over at its next step boundary. */
  leave(): void;
  /** Drives the run on in the background. */
  revive(): void;
  /** Records the end of the child with this id; false when this execution has no such child. */
  reportEnd(childEnd: ChildEnd, child: string): Promise<boolean>;
  drive(given: {
    onReplayEnd?: OnReplayEnd | undefined;
    driver: Driver;
    observe?: Observe | undefined;
  }): Promise<Stop>;
}

/** One check-out: another one of the same execution is another object. */
export interface CheckOut {
  readonly execution: Parked;
}

/** Told of a journal that could not be brought up to date. */
type Failed = (journal: RunJournal, error: unknown) => void;

/** Characters of the journals of all runs that are kept, so that memory is limited, and not only their number. */
const mostText = 64 * 1024 * 1024;

export class ParkedRuns {
  #limit: number;
  readonly #kept = new Map<string, Parked>();
  #text = 0;
  readonly #out = new Map<RunJournal, CheckOut>();

  readonly #failed: Failed;

  constructor(limit: number, failed: Failed = () => {}) {
    this.#limit = limit;
    this.#failed = failed;
  }

  /** Keeps an execution that was parked. */
  keep(execution: Parked): void {
    const { locator, state } = execution.journal;
    if (this.#limit === 0 || state.end !== null) return;
    this.#drop(locator);
    this.#kept.set(locator, execution);
    this.#text += execution.journal.size;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#limit && this.#text <= mostText) return;
      this.#drop(oldest);
    }
  }

  /** Drops all executions, and keeps none from now on. */
  close(): void {
    this.#limit = 0;
    for (const locator of this.#kept.keys()) this.#drop(locator);
  }

  /** Takes an execution out. Its journal does not grow while it is kept. */
  #drop(locator: string): Parked | undefined {
    const execution = this.#kept.get(locator);
    if (this.#kept.delete(locator)) this.#text -= execution?.journal.size ?? 0;
    return execution;
  }

  /** Checks out the journal of a parked execution, brought up to date; `null` when none can continue. */
  async checkOut(locator: string): Promise<RunJournal | null> {
    const execution = this.#drop(locator);
    if (execution === undefined) return null;
    const { journal } = execution;
    this.#out.set(journal, { execution });
    try {
      const entries = await journal.refresh();
      // A run that goes on after its end has calls that begin anew.
      const isSame = entries.every(({ outside, kind }) => outside && kind !== "run.retried");
      if (!journal.deleted && isSame) return journal;
    } catch (error) {
      // The caller now reads the journal from the start, and reports the same error.
      this.#failed(journal, error);
    }
    this.#out.delete(journal);
    return null;
  }

  /** Who has the execution of a journal now: what a user passes to `checkIn`. */
  user(journal: RunJournal): CheckOut | undefined {
    return this.#out.get(journal);
  }

  /** The execution of a journal that is checked out. */
  checkedOut(journal: RunJournal): Parked | undefined {
    return this.#out.get(journal)?.execution;
  }

  /** Hands the execution over to its driver, or drops it. */
  take(journal: RunJournal): Parked | undefined {
    const execution = this.checkedOut(journal);
    this.#out.delete(journal);
    return execution;
  }

  /** Returns an execution that was not driven. */
  checkIn(journal: RunJournal, user: CheckOut | undefined): void {
    if (this.#out.get(journal) !== user) return;
    const execution = this.take(journal);
    if (execution?.parked === true) this.keep(execution);
    else execution?.revive();
  }

  /** The code continued by itself. True when the execution is not checked out, so that the caller must drive it. */
  resumedItself(execution: Parked): boolean {
    if (this.#out.has(execution.journal)) return false;
    this.#drop(execution.journal.locator);
    return true;
  }
}

const mostRecentText = 16 * 1024 * 1024;

export class RecentJournals {
  #limit: number;
  readonly #kept = new Map<string, RunJournal>();
  /** The run of the latest call of `takeOrOpen`. */
  #latest = "";

  readonly #failed: Failed;

  constructor(limit: number, failed: Failed = () => {}) {
    this.#limit = limit;
    this.#failed = failed;
  }

  /** Drops all journals, and keeps none from now on. */
  close(): void {
    this.#limit = 0;
    this.#kept.clear();
  }

  /** Takes out the journal of a run, brought up to date; `null` when there is none. */
  async take(locator: string): Promise<RunJournal | null> {
    const journal = this.#kept.get(locator);
    if (journal === undefined) return null;
    this.#kept.delete(locator);
    try {
      await journal.refresh();
    } catch (error) {
      // The caller opens the journal anew, and reports the same error if it is still there.
      this.#failed(journal, error);
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
      if (this.#kept.size <= this.#limit && text <= mostRecentText) return;
      this.#kept.delete(oldest);
      text -= size;
    }
  }
}
