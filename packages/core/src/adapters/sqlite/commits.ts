/**
 * Group commit: writes that are in flight together share one transaction, so the fsync is paid once.
 *
 * commits.1. A write settles only after the COMMIT that carries it.
 * commits.2. A write that refuses (a conflict) changes nothing and does not disturb the others of its commit.
 * commits.3. A write that fails by its own fault is told so; the commit is rolled back and the others go again.
 * commits.4. A commit that fails otherwise is rolled back whole, and every write in it is told.
 * commits.5. A busy file is tried again without blocking the process, for a bounded time.
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
  /** How long a busy file is tried. */
  readonly busyMs: number;
}

const writesPerCommit = 2_000;

/** A short while, another one each time, so that two who wait do not meet again. */
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
  /** Commits that changed something, for those who count. */
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
    // Writes settle in order, so that one more, which does nothing, comes after all others.
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
      const told = current !== undefined && isOwnFault(error) ? [current] : writes;
      for (const { reject } of told) reject(named(error, this.#options.path));
      this.#queue.unshift(...writes.filter((write) => !told.includes(write)));
      return;
    }
    this.#count();
    for (const tell of settle) tell();
  }

  /** A commit of nothing but refusals costs no fsync. */
  #count(): void {
    const rows = Number(this.#changes.get()?.["rows"]);
    if (rows !== this.#rows) this.count += 1;
    this.#rows = rows;
  }

  #rollback(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // SQLite rolls back by itself after some errors; then there is nothing left to roll back.
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
    // Should an earlier rollback have failed, its transaction must not block all that follows.
    this.#rollback();
    for (const { reject } of writes) reject(named(error, this.#options.path));
    if (this.#queue.length > 0) this.#schedule(0);
  }
}

/** Does one write, and returns the way to settle it once the commit has been made. */
function run({ work, resolve, reject }: Write): () => void {
  try {
    const value = work();
    return () => resolve(value);
  } catch (error) {
    if (!DurableError.is(error)) throw error;
    return () => reject(error);
  }
}
