/** What `#default-storage` means where there are files: `.durable/journal.db`, or `DURABLE_DIR`. */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Storage } from "../storage.ts";
import { SqliteStorage } from "./storage.ts";

/** One connection per file and process: commits of all workflows are shared. */
const opened = new Map<string, SqliteStorage>();

export function defaultStorage(): Promise<Storage> {
  return Promise.resolve().then(() => {
    const folder = resolve(process.env["DURABLE_DIR"] ?? ".durable");
    const known = opened.get(folder);
    if (known !== undefined && !known.closed) return known;
    mkdirSync(folder, { recursive: true });
    // Journals and the secret are not for version control.
    const ignore = join(folder, ".gitignore");
    if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
    const storage = new SqliteStorage(join(folder, "journal.db"));
    opened.set(folder, storage);
    return storage;
  });
}
