/**
 * Group commit: writes that are in flight together share one transaction, so the fsync is paid once.
 *
 * Q1. A write settles only after the COMMIT that carries it.
 * Q2. A write that refuses (a conflict) changes nothing and does not disturb the others of its commit.
 * Q3. A commit that fails is rolled back whole, and every write in it is told.
 * Q4. A busy file is tried again without blocking the process, for a bounded time.
 */

import type { DatabaseSync } from "node:sqlite";
import { DurableError } from "../errors.ts";
import { named, resultCode } from "./errors.ts";

interface Write {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const longestBusyMs = 10_000;
const writesPerCommit = 2_000;

export class Commits {
  readonly #database: DatabaseSync;
  readonly #path: string;
  #queue: Write[] = [];
  #scheduled = false;
  #busySince: number | null = null;
  /** Commits made, for those who count. */
  count = 0;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#path = path;
  }

  /** Runs `work` inside the next commit; it must check before it writes. */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#scheduled) this.#schedule(0);
    });
  }

  #schedule(ms: number): void {
    this.#scheduled = true;
    if (ms === 0) setImmediate(() => this.flush());
    else setTimeout(() => this.flush(), ms);
  }

  /** Commits what is queued now. */
  flush(): void {
    this.#scheduled = false;
    const writes = this.#queue.splice(0, writesPerCommit);
    if (writes.length === 0) return;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
    } catch (error) {
      return this.#refused(writes, error);
    }
    this.#busySince = null;
    this.#commit(writes);
    if (this.#queue.length > 0) this.#schedule(0);
  }

  #commit(writes: readonly Write[]): void {
    const settle: (() => void)[] = [];
    try {
      for (const { work, resolve, reject } of writes) {
        try {
          const value = work();
          settle.push(() => resolve(value));
        } catch (error) {
          // A refusal is ours and has written nothing; anything else dooms the whole commit.
          if (!DurableError.is(error)) throw error;
          settle.push(() => reject(error));
        }
      }
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#rollback();
      for (const { reject } of writes) reject(named(error, this.#path));
      return;
    }
    this.count += 1;
    for (const tell of settle) tell();
  }

  #rollback(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // SQLite rolls back by itself after some errors; then there is nothing left to roll back.
    }
  }

  #refused(writes: Write[], error: unknown): void {
    const now = performance.now();
    const busy = resultCode(error) === 5 || resultCode(error) === 6;
    this.#busySince ??= now;
    if (busy && now - this.#busySince < longestBusyMs) {
      this.#queue.unshift(...writes);
      return this.#schedule(1 + Math.random() * 20);
    }
    this.#busySince = null;
    for (const { reject } of writes) reject(named(error, this.#path));
    if (this.#queue.length > 0) this.#schedule(0);
  }
}
