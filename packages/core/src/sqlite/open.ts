/** Opens the file the way durability needs it, and checks by reading back that it is so. */

import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { DurableError } from "../errors.ts";
import { named } from "./errors.ts";
import { migrate } from "./schema.ts";

/** While opening, waiting is all there is to do. */
const openWaitMs = 10_000;
/** Later a short wait in place is enough: commits are tried again without blocking the process. */
const busyWaitMs = 20;

export function openDatabase(path: string): DatabaseSync {
  const { DatabaseSync } = sqlite();
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    database = new DatabaseSync(path);
    database.exec(`PRAGMA busy_timeout = ${openWaitMs}`);
    set(database, path, "journal_mode", "wal", "wal");
    set(database, path, "synchronous", "FULL", 2);
    database.exec("PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY");
    migrate(database, path);
    database.exec(`PRAGMA busy_timeout = ${busyWaitMs}`);
    return database;
  } catch (error) {
    database?.close();
    throw named(error, path);
  }
}

function set(
  database: DatabaseSync,
  path: string,
  pragma: string,
  value: string,
  expected: string | number,
): void {
  database.exec(`PRAGMA ${pragma} = ${value}`);
  const found = database.prepare(`PRAGMA ${pragma}`).get()?.[pragma];
  if (found === expected) return;
  throw new DurableError(
    "storage-failed",
    `The journal file ${path} cannot be used: ${pragma} is ${String(found)} and must be ${value}. Network file systems and in-memory databases cannot keep a journal; use a local disk, or MemoryStorage.`,
  );
}

/** Loaded when the first file is opened: other storages, and older Nodes, need not have it. */
function sqlite(): typeof import("node:sqlite") {
  const emit = process.emitWarning;
  // Node 22 warns that its SQLite is experimental; users of this library have no use for that line.
  process.emitWarning = ((warning: string | Error, ...rest: []) => {
    if (!String(warning).includes("SQLite is an experimental feature")) emit.call(process, warning, ...rest);
  }) as typeof process.emitWarning;
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
