/** Folders for SQLite tests: one per test, gone afterwards. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempFolder {
  readonly folder: string;
  /** Where a journal file may be made. */
  readonly path: string;
  readonly remove: () => void;
}

export function tempFolder(): TempFolder {
  const folder = mkdtempSync(join(tmpdir(), "durable-sqlite-"));
  return {
    folder,
    path: join(folder, "journal.db"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
