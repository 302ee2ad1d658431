/**
 * Gives the space of deleted runs back to the file system. New files keep a map of their pages (`auto_vacuum`), so that
 * the last pages can move to free places, a few at a time. Proven in test/adapters/sqlite/space.test.ts.
 *
 * space.1. Without `full`, other processes are kept from writing for one small commit at a time.
 * space.2. The file shrinks when the write-ahead log is copied into it and truncated. While a reader uses the log, that
 *     is left for later; no data depends on it.
 */

import { statSync } from "./node-fs.ts";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { assertOptions } from "../../values/options.ts";
import { shortWait } from "./commits.ts";
import { isBusy } from "./errors.ts";

/** Options of `SqliteStorage.compact`. */
export interface CompactOptions {
  /** Writes the whole file anew, also one without a map of its pages. False by default. */
  readonly full?: boolean | undefined;
  /** Stops after the commit under way. A full compaction cannot be stopped. */
  readonly signal?: AbortSignal | undefined;
}

/** Sizes of the file and its write-ahead log, in bytes. */
export interface Compacted {
  readonly before: number;
  readonly after: number;
  /** Bytes in the file that are free, and were not given back. */
  readonly free: number;
}

interface Access {
  write<T>(work: () => T): Promise<T>;
  read<T>(work: () => T): Promise<T>;
}

/** One megabyte of pages, so that a commit takes milliseconds. */
const pagesAtOnce = 256;
/** How often the truncation of the log is tried while readers use it. */
const checkpoints = 20;
/** The `auto_vacuum` of a file whose pages can be moved a few at a time. */
const incremental = 2;

/** Makes the pages of a new file movable. Must come first: it has no effect once the file has a page. */
export function makeCompactable(database: DatabaseSync): void {
  if (numberOf(database, "page_count") === 0) database.exec(`PRAGMA auto_vacuum = ${incremental}`);
}

export class Space {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #access: Access;

  constructor(path: string, database: DatabaseSync, access: Access) {
    this.#path = path;
    this.#database = database;
    this.#access = access;
  }

  async compact(options: CompactOptions): Promise<Compacted> {
    assertOptions(options, "full signal", "compact");
    const before = this.#bytes();
    if (options.full === true) await this.#rewrite();
    await this.giveBack(options.signal);
    const free = await this.#read("freelist_count");
    return { before, after: this.#bytes(), free: free * (await this.#read("page_size")) };
  }

  async giveBack(signal?: AbortSignal): Promise<void> {
    const movable = (await this.#read("auto_vacuum")) === incremental;
    for (let left = movable ? await this.#read("freelist_count") : 0; left > 0;) {
      if (signal?.aborted === true) break;
      await this.#access.write(() => this.#database.exec(`PRAGMA incremental_vacuum(${pagesAtOnce})`));
      const now = await this.#read("freelist_count");
      // Others may delete runs at the same time. One commit that frees nothing is enough.
      if (now >= left) break;
      left = now;
    }
    await this.#truncateLog(signal);
  }

  /** The new file has a map of its pages, whatever the old one had. */
  async #rewrite(): Promise<void> {
    await this.#access.read(() => this.#database.exec(`PRAGMA auto_vacuum = ${incremental}; VACUUM`));
  }

  async #truncateLog(signal: AbortSignal | undefined): Promise<void> {
    for (let tries = 0; tries < checkpoints; tries++) {
      if (signal?.aborted === true) return;
      if (await this.#access.read(() => this.#checkpoint())) return;
      await setTimeout(shortWait());
    }
  }

  /** False while another connection uses the log. */
  #checkpoint(): boolean {
    try {
      return this.#database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  }

  #read(pragma: string): Promise<number> {
    return this.#access.read(() => numberOf(this.#database, pragma));
  }

  #bytes(): number {
    return sizeOf(this.#path) + sizeOf(`${this.#path}-wal`);
  }
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
