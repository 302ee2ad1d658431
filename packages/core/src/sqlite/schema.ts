/**
 * The tables, and how older files come to them. One migrator at a time: every step runs in one
 * exclusive transaction that begins by reading the version again.
 */

import type { DatabaseSync } from "node:sqlite";
import { DurableError } from "../errors.ts";

/** Step n brings a file from version n to n + 1. Steps are never changed once released. */
const migrations: readonly string[] = [
  `CREATE TABLE runs (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     locator TEXT NOT NULL UNIQUE,
     run_id TEXT NOT NULL,
     workflow TEXT NOT NULL,
     status TEXT NOT NULL,
     wake_at INTEGER,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     steps INTEGER NOT NULL,
     label TEXT,
     parent TEXT,
     ancestors TEXT NOT NULL,
     length INTEGER NOT NULL,
     owner TEXT,
     process TEXT,
     lease_until INTEGER,
     starts INTEGER NOT NULL DEFAULT 0,
     starts_at INTEGER NOT NULL DEFAULT 0,
     quiet_until INTEGER NOT NULL DEFAULT 0,
     deleted INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE batches (
     locator TEXT NOT NULL,
     position INTEGER NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (locator, position)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX runs_due ON runs (wake_at) WHERE wake_at IS NOT NULL AND deleted = 0;
   CREATE INDEX runs_by_workflow ON runs (workflow, id);
   CREATE INDEX runs_by_parent ON runs (parent, id) WHERE parent IS NOT NULL;`,
];

export function migrate(database: DatabaseSync, path: string): void {
  if (versionOf(database) === migrations.length) return;
  database.exec("BEGIN EXCLUSIVE");
  try {
    const version = versionOf(database);
    if (version > migrations.length) {
      throw new DurableError(
        "newer-format",
        `The journal file ${path} has schema ${version}, newer than this build knows (${migrations.length}). Upgrade @durable/core in this process.`,
      );
    }
    for (const step of migrations.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
}
