/**
 * Group commit: writes that are in flight at the same time share one transaction, and so one fsync.
 *
 * commits.1. A write settles only after the COMMIT that contains it.
 * commits.2. A write that is refused (a conflict) changes nothing and does not affect the other writes of its commit.
 * commits.3. A write that fails through its own fault is rejected; the commit is rolled back and the others are retried.
 * commits.4. A commit that fails for another reason is rolled back, and every write in it is rejected.
 * commits.5. After the COMMIT, `check` confirms that the file is still there; otherwise every write is rejected.
 * commits.6. A busy file is retried without blocking the process, for a limited time.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { DurableError } from "../../values/errors.ts";
import { isBusy, isOwnFault, named } from "./errors.ts";

interface Write {
  readonly work: () => unknown;
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
  #rows = 0;
  /** Commits that changed something, for tests and benchmarks. */
  count = 0;

  constructor(database: DatabaseSync, options: CommitsOptions) {
    this.#database = database;
    this.#options = options;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#end = database.prepare("COMMIT");
    this.#changes = database.prepare("SELECT total_changes() AS rows");
  }

  /** Runs `work` inside the next commit; it must check before it writes, and may be run again. */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#scheduled) this.#schedule(0);
    });
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
    try {
      for (current of writes) settle.push(run(current));
      current = undefined;
      this.#end.run();
    } catch (error) {
      this.#rollback();
      const failed = current !== undefined && isOwnFault(error) ? [current] : writes;
      for (const { reject } of failed) reject(named(error, this.#options.path));
      this.#queue.unshift(...writes.filter((write) => !failed.includes(write)));
      return;
    }
    this.#count();
    try {
      this.#options.check();
    } catch (error) {
      for (const { reject } of writes) reject(error);
      return;
    }
    for (const settleWrite of settle) settleWrite();
  }

  /** Counts a commit only if it changed rows: a commit of refused writes needs no fsync. */
  #count(): void {
    const rows = Number(this.#changes.get()?.["rows"]);
    if (rows !== this.#rows) this.count += 1;
    this.#rows = rows;
  }

  #rollback(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // After some errors SQLite has rolled back by itself, and this statement fails.
    }
  }

  #refused(writes: readonly Write[], error: unknown): void {
    const now = performance.now();
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

/** Executes one write, and returns a function that settles it after the commit. */
function run({ work, resolve, reject }: Write): () => void {
  try {
    const value = work();
    return () => resolve(value);
  } catch (error) {
    if (!DurableError.is(error)) throw error;
    return () => reject(error);
  }
}
