/** Folders for SQLite tests: one per test, gone afterwards. */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempFolder {
  readonly folder: string;
  /** Where a journal file may be made. */
  readonly path: string;
  readonly remove: () => void;
}

/** Where there is a file system in memory, for what needs many files and no disk. */
export const memoryFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export function tempFolder(parent: string = tmpdir()): TempFolder {
  const folder = mkdtempSync(join(parent, "durable-sqlite-"));
  return {
    folder,
    path: join(folder, "journal.db"),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}
