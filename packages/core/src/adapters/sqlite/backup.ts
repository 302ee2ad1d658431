/**
 * Copies of the file while it is in use.
 *
 * backup.1. A copy is one state of the file, with everything that was acknowledged before the call. A read transaction on a
 *     connection of its own holds that state: without it, SQLite begins again whenever another connection writes.
 * backup.2. A copy gets its name when it is complete, checked and on disk. A file that has this name is never replaced.
 * backup.3. Only its owner may read a copy, from the moment it exists.
 * backup.4. Every checksum of the copy is checked before it gets its name, so damage is not found out only at a restore.
 */

import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "./node-fs.ts";
import { dirname, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { DurableError } from "../../values/errors.ts";
import { assertOptions } from "../../values/options.ts";
import { droppedOf } from "./chapters.ts";
import { named } from "./errors.ts";
import type { FileIdentity } from "./identity.ts";
import { sqlite } from "./open.ts";
import { codeOf, draftOf, fileMode, makeFolder } from "./private-files.ts";
import { copySecret } from "./secret.ts";
import { statements, type Row, type Statements } from "./statements.ts";
import { checkPart, checkRun } from "./sums.ts";

/** Options of `SqliteStorage.backup`. */
export interface BackupOptions {
  /** Called while the file is copied, with the bytes that are copied and their number at the end. */
  readonly onProgress?: ((progress: { readonly done: number; readonly total: number }) => void) | undefined;
  /**
   * Copies the secret file as well, to where a storage that opens the copy looks for it. Without the secret,
   * the tokens of restored runs are not valid. False by default.
   */
  readonly secret?: boolean | undefined;
}

/** What `SqliteStorage.backup` made. */
export interface Backup {
  /** The absolute path of the copy. */
  readonly path: string;
  readonly bytes: number;
  /** Runs in the copy; every checksum of each was checked. */
  readonly runs: number;
}

/** Pages that are copied at a time, on another thread. */
const pagesAtOnce = 1_000;
/** For how long the checks may block the process before they let others run. */
const turnMs = 5;

/** A connection that sees the present state of a file until it is closed. */
export function pinned(path: string, identity: FileIdentity): DatabaseSync {
  // The path may lead to another file by now, which the storage does not write to.
  identity.check();
  const database = new (sqlite().DatabaseSync)(path, { readOnly: true });
  try {
    // A transaction begins with its first read.
    database.exec("BEGIN; SELECT count(*) FROM sqlite_schema");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Copies what `pin` gives: a connection to the file at `from`. */
export async function backUp(
  from: string,
  path: string,
  { pin, options }: { readonly pin: () => Promise<DatabaseSync>; readonly options: BackupOptions },
): Promise<Backup> {
  assertOptions(options, "onProgress secret", "backup");
  const target = resolve(path);
  const draft = `${draftOf(target)}.partial`;
  try {
    refuseExisting(target);
    makeFolder(dirname(target));
    closeSync(openSync(draft, "wx", fileMode));
    return await complete({ from, draft, target, options }, pin).finally(() => removeDraft(draft));
  } catch (error) {
    throw named(error, target);
  }
}

interface Files {
  readonly from: string;
  readonly draft: string;
  readonly target: string;
  readonly options: BackupOptions;
}

async function complete(
  { from, draft, target, options }: Files,
  pin: () => Promise<DatabaseSync>,
): Promise<Backup> {
  await copyPages(await pin(), draft, options);
  const runs = await check(draft, from);
  sync(draft);
  if (options.secret === true) copySecret(from, target);
  publish(draft, target);
  return { path: target, bytes: statSync(target).size, runs };
}

function removeDraft(draft: string): void {
  for (const suffix of ["", "-journal"]) rmSync(`${draft}${suffix}`, { force: true });
}

async function copyPages(source: DatabaseSync, draft: string, { onProgress }: BackupOptions): Promise<void> {
  try {
    const { backup } = sqlite();
    if (typeof backup !== "function")
      throw new DurableError(
        "storage-failed",
        `Node ${process.version} cannot copy a database that is in use. Use Node 22.16 or later, or copy the runs to a new SqliteStorage with copyRuns.`,
      );
    const size = Number(source.prepare("PRAGMA page_size").get()?.["page_size"]);
    const pages = Number(source.prepare("PRAGMA page_count").get()?.["page_count"]);
    await backup(source, draft, {
      rate: pagesAtOnce,
      progress: ({ totalPages, remainingPages }) =>
        onProgress?.({ done: (totalPages - remainingPages) * size, total: totalPages * size }),
    });
    onProgress?.({ done: pages * size, total: pages * size });
  } finally {
    source.close();
  }
}

/** Checks every run of a copy, and counts them. Damage is reported for the file that was copied. */
async function check(draft: string, from: string): Promise<number> {
  // Nothing else has this file, so it is opened without locks and logs, which a network file system may lack.
  const url = pathToFileURL(draft);
  url.search = "?immutable=1";
  const database = new (sqlite().DatabaseSync)(url, { readOnly: true });
  try {
    const sql = statements(database);
    const next = database.prepare("SELECT locator FROM runs WHERE locator > ? ORDER BY locator LIMIT 1");
    let runs = 0;
    let until = performance.now() + turnMs;
    for (let last = ""; ; runs++) {
      const row = next.get(last) as Row | undefined;
      if (row === undefined) return runs;
      last = String(row["locator"]);
      checkJournal(sql, last, from);
      if (performance.now() < until) continue;
      await setImmediate();
      until = performance.now() + turnMs;
    }
  } catch (error) {
    throw named(error, from);
  } finally {
    database.close();
  }
}

function checkJournal(sql: Statements, locator: string, path: string): void {
  const run = sql.run.get(locator) as Row;
  checkRun(run, path);
  const from = droppedOf(run);
  const batches = sql.batches.all(locator, from) as Row[];
  const blobs = sql.blobs.all(locator, from) as Row[];
  checkPart({ locator, from, length: Number(run["length"]), batches, blobs }, path);
}

/** A link is refused where a file is, and a rename replaces it. Some file systems have no links. */
function publish(draft: string, target: string): void {
  try {
    linkSync(draft, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw exists(target);
    refuseExisting(target);
    renameSync(draft, target);
  }
  if (process.platform !== "win32") sync(dirname(target));
}

function sync(path: string): void {
  const descriptor = openSync(path, process.platform === "win32" ? "r+" : "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function refuseExisting(target: string): void {
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) throw exists(target);
}

function exists(target: string): DurableError {
  return new DurableError(
    "invalid-options",
    `There is a file at "${target}" already, and a backup does not replace files. Choose another name, or remove the file first.`,
  );
}
