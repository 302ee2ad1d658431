/**
 * Group commit: writes that are in flight at the same time share one transaction, and so one fsync.
 *
 * commits.1. A write settles only after the COMMIT that contains it.
 * commits.2. A write that is refused (a conflict) changes nothing and does not affect the other writes of its commit.
 * commits.3. A write that fails through its own fault is rejected; the commit is rolled back and the others are retried.
 * commits.4. A commit that fails for another reason is rolled back, and every write in it is rejected.
 * commits.5. After the COMMIT, `check` confirms that the file is still there; otherwise every write is rejected.
 * commits.6. A busy file is retried without blocking the process, for a limited time.
 * commits.7. Writes wait for one turn of the event loop, so that others can share their commit. While a single run appends,
 *     nothing else would come, and its writes do not wait.
 * commits.8. A commit that does not wait for the disk is for texts that may be lost; every other one waits.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { DurableError } from "../../values/errors.ts";
import { monotonicMs } from "./clock.ts";
import { isBusy, isOwnFault, named } from "./errors.ts";

interface Write {
  readonly work: () => unknown;
  /** The run that an append is for; `null` for other writes. */
  readonly run: string | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface CommitsOptions {
  readonly path: string;
  /** How long a busy file is retried. */
  readonly busyMs: number;
  /** Throws when the file that was written is no longer at its path. */
  readonly check: () => void;
}

const writesPerCommit = 2_000;

/** A short random time, so that two waiting processes do not collide again. */
export function shortWait(): number {
  return 1 + Math.random() * 15;
}

export class Commits {
  readonly #database: DatabaseSync;
  readonly #options: CommitsOptions;
  readonly #begin: StatementSync;
  readonly #end: StatementSync;
  readonly #changes: StatementSync;
  readonly #queue: Write[] = [];
  #scheduled = false;
  #busySince: number | null = null;
  /** The run of the last commit, if all its writes were appends of that run. */
  #alone: string | null = null;
  /** Commits that changed something, for tests and benchmarks. */
  count = 0;

  constructor(database: DatabaseSync, options: CommitsOptions) {
    this.#database = database;
    this.#options = options;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#end = database.prepare("COMMIT");
    this.#changes = database.prepare("SELECT total_changes() AS rows");
  }

  /**
   * Runs `work` inside the next commit; it must check before it writes, and may be run again. An append names its run, and
   * changes rows unless it is refused.
   */
  write<T>(work: () => T, run: string | null = null): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, run, resolve: resolve as (value: unknown) => void, reject });
      if (this.#scheduled) return;
      if (run === null || run !== this.#alone) return this.#schedule(0);
      this.#scheduled = true;
      process.nextTick(() => this.#flush());
    });
  }

  /**
   * Runs `work` in a commit of its own that does not wait for the disk; the next commit makes it durable. A busy file is not
   * waited for.
   */
  unsynced(work: () => void): void {
    this.#database.exec("PRAGMA synchronous = OFF");
    try {
      this.#begin.run();
      work();
      this.#end.run();
    } catch (error) {
      this.#rollback();
      throw named(error, this.#options.path);
    } finally {
      this.#database.exec("PRAGMA synchronous = FULL");
    }
  }

  /** Settles when every write made so far has settled. */
  async settled(): Promise<void> {
    // Writes settle in order, so an empty write settles after all earlier ones.
    if (this.#queue.length > 0) await this.write(() => {}).catch(() => {});
  }

  #schedule(ms: number): void {
    this.#scheduled = true;
    if (ms === 0) setImmediate(() => this.#flush());
    else setTimeout(() => this.#flush(), ms);
  }

  #flush(): void {
    this.#scheduled = false;
    const writes = this.#queue.splice(0, writesPerCommit);
    try {
      this.#begin.run();
    } catch (error) {
      return this.#refused(writes, error);
    }
    this.#busySince = null;
    this.#commit(writes);
    if (this.#queue.length > 0) this.#schedule(0);
  }

  #commit(writes: readonly Write[]): void {
    const settle: (() => void)[] = [];
    let current: Write | undefined;
    const rows = writes.every(({ run }) => run !== null) ? null : this.rows;
    let appended = false;
    try {
      for (current of writes) {
        const done = execute(current);
        settle.push(done.settle);
        appended ||= done.accepted && current.run !== null;
      }
      current = undefined;
      this.#end.run();
    } catch (error) {
      this.#rollback();
      const failed = current !== undefined && isOwnFault(error) ? [current] : writes;
      for (const { reject } of failed) reject(named(error, this.#options.path));
      this.#queue.unshift(...writes.filter((write) => !failed.includes(write)));
      return;
    }
    // A commit of refused writes changes nothing and needs no fsync.
    if (appended || (rows !== null && rows !== this.rows)) this.count += 1;
    const [first] = writes;
    this.#alone = first !== undefined && writes.every(({ run }) => run === first.run) ? first.run : null;
    try {
      this.#options.check();
    } catch (error) {
      for (const { reject } of writes) reject(error);
      return;
    }
    for (const settleWrite of settle) settleWrite();
  }

  /** Rows that this connection has changed so far. */
  get rows(): number {
    return Number(this.#changes.get()?.["rows"]);
  }

  #rollback(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // After some errors SQLite has rolled back by itself, and this statement fails.
    }
  }

  #refused(writes: readonly Write[], error: unknown): void {
    const now = monotonicMs();
    this.#busySince ??= now;
    if (isBusy(error) && now - this.#busySince < this.#options.busyMs) {
      this.#queue.unshift(...writes);
      return this.#schedule(shortWait());
    }
    this.#busySince = null;
    // If an earlier rollback failed, its open transaction must not block all later writes.
    this.#rollback();
    for (const { reject } of writes) reject(named(error, this.#options.path));
    if (this.#queue.length > 0) this.#schedule(0);
  }
}

/** Executes one write; `settle` is called after the commit. */
function execute({ work, resolve, reject }: Write): {
  readonly accepted: boolean;
  readonly settle: () => void;
} {
  try {
    const value = work();
    return { accepted: true, settle: () => resolve(value) };
  } catch (error) {
    if (!DurableError.is(error)) throw error;
    return { accepted: false, settle: () => reject(error) };
  }
}
