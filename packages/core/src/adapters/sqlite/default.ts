/** `#default-storage` on platforms with files: `journal.db` in `.durable`, or in the folder that `DURABLE_DIR` names. */

import { chmodSync, statSync } from "./node-fs.ts";
import { join, resolve } from "node:path";
import type { Storage } from "../../ports/storage.ts";
import { folderMode, ignoreInGit, makeFolder } from "./private-files.ts";
import { named } from "./errors.ts";
import { SqliteStorage } from "./storage.ts";

export { guard } from "../../ports/uncaught.ts";
export { isDead, thisProcess } from "./process.ts";

/** There is a default storage. */
export const hasDefault = true;

/** How many parked runs stay in memory by default. */
export const warmRuns = 100;

/** Whether prompts are kept by an app that does not say. */
export function keepsPrompts(): boolean | undefined {
  return process.env["DURABLE_PROMPTS"] === "1";
}

/** One connection per file and process, so that all workflows share commits. */
const opened = new Map<string, SqliteStorage>();

export function defaultStorage(): Promise<Storage> {
  return Promise.resolve().then(() => {
    const chosen = process.env["DURABLE_DIR"] || null;
    const folder = resolve(chosen ?? ".durable");
    const known = opened.get(folder);
    if (known !== undefined && !known.closed) return known;
    prepareFolder(folder, chosen === null);
    const storage = new SqliteStorage(join(folder, "journal.db"));
    opened.set(folder, storage);
    return storage;
  });
}

/**
 * Keeps journals and the secret out of version control, and away from other users. An existing folder that the user
 * chose is not changed; a `.durable` that an older version made is closed to others.
 */
function prepareFolder(folder: string, ours: boolean): void {
  try {
    const made = makeFolder(folder);
    if (made || ours) ignoreInGit(folder);
    if (!made && ours) closeToOthers(folder);
  } catch (error) {
    throw named(error, folder);
  }
}

function closeToOthers(folder: string): void {
  const { mode, uid } = statSync(folder);
  if ((mode & 0o077) !== 0 && uid === process.getuid?.()) chmodSync(folder, folderMode);
}
