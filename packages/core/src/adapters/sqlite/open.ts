/**
 * Opens the file with the settings that durability needs.
 *
 * open.1. WAL and synchronous=FULL are set and read back; if they do not apply, the file is refused.
 * open.2. While other processes open, migrate or close the file, opening waits, up to a limit.
 * open.3. A refused file is not changed, and not left open.
 * open.4. A new file is readable only by its owner, and so are its logs: SQLite gives them the mode of the database.
 */

import { existsSync, statfsSync, statSync } from "./node-fs.ts";
import { dirname } from "node:path";
import type * as Sqlite from "node:sqlite";
import { DurableError, describeError } from "../../values/errors.ts";
import { createEmpty, makeFolder, sayLoose } from "./private-files.ts";
import { monotonicMs } from "./clock.ts";
import { shortWait } from "./commits.ts";
import { isBusy, isOwnFault, named } from "./errors.ts";
import { checkVersion, migrate } from "./schema.ts";
import { makeCompactable } from "./space.ts";
import { statements, type Statements } from "./statements.ts";

/** Short, because SQLite blocks the process while it waits. Callers retry a busy file without blocking. */
const busyWaitMs = 5;
/** A larger write-ahead log is truncated to this size. */
const walBytes = 64 * 1024 * 1024;

export interface Opened {
  readonly database: Sqlite.DatabaseSync;
  readonly sql: Statements;
}

export function openDatabase(path: string, waitMs: number): Opened {
  const { DatabaseSync } = sqlite();
  const until = monotonicMs() + waitMs;
  for (;;) {
    let database: Sqlite.DatabaseSync | undefined;
    try {
      makeFolder(dirname(path));
      refuseNetwork(path, statfsSync(dirname(path)).type);
      refuseEmptied(path);
      if (path !== ":memory:" && !existsSync(path)) createEmpty(path);
      sayLoose(path, statSync(path, { throwIfNoEntry: false })?.mode ?? 0, 0o022);
      database = new DatabaseSync(path);
      prepare(database, path);
      return { database, sql: prepareStatements(database, path) };
    } catch (error) {
      database?.close();
      // Switching to WAL locks the whole file for a moment, and so does closing its last connection.
      if (!isBusy(error) || monotonicMs() > until) throw named(error, path);
      sleep(shortWait());
    }
  }
}

function prepare(database: Sqlite.DatabaseSync, path: string): void {
  database.exec(`PRAGMA busy_timeout = ${busyWaitMs}`);
  checkVersion(database, path);
  makeCompactable(database);
  set(database, path, "journal_mode", "wal", "wal");
  set(database, path, "synchronous", "FULL", 2);
  database.exec(`PRAGMA foreign_keys = OFF; PRAGMA journal_size_limit = ${walBytes}`);
  migrate(database, path);
}

/** The schema version is already the newest here, so a missing table or column means damage. */
function prepareStatements(database: Sqlite.DatabaseSync, path: string): Statements {
  try {
    return statements(database);
  } catch (error) {
    if (!isOwnFault(error)) throw error;
    throw new DurableError(
      "corrupt",
      `The journal file "${path}" is damaged: its tables were not created by this library (${describeError(error)}). Restore it from a backup.`,
      { cause: error },
    );
  }
}

function set(
  database: Sqlite.DatabaseSync,
  path: string,
  pragma: string,
  ...[value, expected]: [string, string | number]
): void {
  database.exec(`PRAGMA ${pragma} = ${value}`);
  const found = database.prepare(`PRAGMA ${pragma}`).get()?.[pragma];
  if (found !== expected) throw unfit(path, `${pragma} is ${String(found)} and must be ${value}`);
}

/** Linux's numbers of network file systems. WAL needs shared memory, which does not work across machines. */
const networks: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB2",
  0x5346414f: "AFS",
  0x00c36400: "Ceph",
};

export function refuseNetwork(path: string, type: number): void {
  const network = process.platform === "linux" ? networks[type >>> 0] : undefined;
  if (network !== undefined) throw unfit(path, `it is on a network file system (${network})`);
}

/**
 * SQLite silently discards the write-ahead log of an empty file. In normal operation a file has its first page before
 * it has a log, so an empty file with a log was truncated.
 */
function refuseEmptied(path: string): void {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (log === 0 || statSync(path, { throwIfNoEntry: false })?.size !== 0) return;
  throw new DurableError(
    "corrupt",
    `The journal file "${path}" is empty, but its write-ahead log "${path}-wal" has ${log} bytes. Restore both files from a backup, or delete both to start without runs.`,
  );
}

function unfit(path: string, why: string): DurableError {
  return new DurableError(
    "storage-failed",
    `The journal file "${path}" cannot be used: ${why}. Network file systems and in-memory databases cannot store a journal. Use a local disk (DURABLE_DIR changes the default folder), or MemoryStorage.`,
  );
}

/** Blocks, because opening is synchronous: a storage is created by a constructor. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Loaded when the first file is opened, so that users of other storages do not need `node:sqlite`. */
export function sqlite(): typeof Sqlite {
  const emit = Reflect.get(process, "emitWarning");
  // Node 22 prints a warning that its SQLite is experimental, which does not help users of this library.
  process.emitWarning = (...args: unknown[]) => {
    if (!String(args[0]).includes("SQLite is an experimental feature")) Reflect.apply(emit, process, args);
  };
  try {
    const module = process.getBuiltinModule?.("node:sqlite");
    if (module !== undefined) return module;
  } finally {
    process.emitWarning = emit;
  }
  throw new DurableError(
    "no-storage",
    `Node ${process.version} has no node:sqlite. Use Node 22.13 or later, or pass another storage.`,
  );
}
