/** `#default-storage` on platforms with files: `journal.db` in `.durable`, or in the folder that `DURABLE_DIR` names. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Storage } from "../../ports/storage.ts";
import { named } from "./errors.ts";
import { SqliteStorage } from "./storage.ts";

export { guard } from "../../ports/uncaught.ts";

/** How many parked runs stay in memory by default. */
export const warmRuns = 100;

/** One connection per file and process, so that all workflows share commits. */
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

/** Keeps journals and the secret out of version control. An existing folder that the user chose is not changed. */
function makeFolder(folder: string, ours: boolean): void {
  try {
    const made = mkdirSync(folder, { recursive: true });
    if (ours || made !== undefined) writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" });
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw named(error, folder);
  }
}
