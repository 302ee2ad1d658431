/** What `#default-storage` means where there are files: `.durable/journal.db`, or `DURABLE_DIR`. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Storage } from "../../ports/storage.ts";
import { named } from "./errors.ts";
import { SqliteStorage } from "./storage.ts";

/** Parked runs that stay in memory. */
export const warmRuns = 100;

/** One connection per file and process: commits of all workflows are shared. */
const opened = new Map<string, SqliteStorage>();

export function defaultStorage(): Promise<Storage> {
  return Promise.resolve().then(() => {
    const chosen = process.env["DURABLE_DIR"] || null;
    const folder = resolve(chosen ?? ".durable");
    const known = opened.get(folder);
    if (known !== undefined && !known.closed) return known;
    makeFolder(folder, chosen === null);
    const storage = new SqliteStorage(join(folder, "journal.db"));
    opened.set(folder, storage);
    return storage;
  });
}

/** Journals and the secret are not for version control; a folder that holds other things is left as it is. */
function makeFolder(folder: string, ours: boolean): void {
  try {
    const made = mkdirSync(folder, { recursive: true });
    if (ours || made !== undefined) writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" });
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw named(error, folder);
  }
}
