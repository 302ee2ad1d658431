/**
 * The tables of a file.
 *
 * schema.1. One process makes or migrates the tables at a time: all steps run in one exclusive transaction, which first
 *     reads the version again.
 * schema.2. The version changes in the same transaction, so a process that is killed half-way leaves the file unchanged.
 * schema.3. A file of a newer version of the library, of one before the first release, or of another program is refused
 *     and not changed.
 */

import type { DatabaseSync } from "node:sqlite";
import { DurableError, otherFormat } from "../../values/errors.ts";
import { dueIndexes } from "./due-statements.ts";
import { limitTables } from "./limit-statements.ts";

/** "durb" in the file's header marks it as a file of this library. */
const applicationId = 0x64757262;

/** The version that the first step makes. Those before it were never released. */
const firstVersion = 4;

/**
 * - `id` is a place in the order of creation (append.ts), so every list that is sorted by it begins with the newest run.
 * - Columns with the ending `_sum` are checksums (sums.ts).
 * - `length` counts all batches that the run ever had, and `dropped` those that were removed from its beginning.
 * - `ended_at` is computed, so it cannot differ from the status. A run that goes on is not in its index.
 * - `marks` is one text with all that a head says and no query asks for.
 * - `waits_at` is when the first open wait expires, for the order of runs that wait for an answer; NULL without one.
 * - `slot`, `singleton` and `fair` repeat what is in `flow`, for indexes.
 */
const runs = `CREATE TABLE runs (
     id INTEGER PRIMARY KEY,
     locator TEXT NOT NULL UNIQUE,
     run_id TEXT NOT NULL,
     workflow TEXT NOT NULL,
     created_at REAL NOT NULL,
     label TEXT,
     parent TEXT,
     ancestors TEXT NOT NULL,
     about_sum INTEGER NOT NULL,
     status TEXT NOT NULL,
     wake_at REAL,
     updated_at REAL NOT NULL,
     steps INTEGER NOT NULL,
     length INTEGER NOT NULL,
     deleted INTEGER NOT NULL DEFAULT 0,
     head_sum INTEGER NOT NULL,
     chapter INTEGER,
     dropped INTEGER NOT NULL DEFAULT 0,
     reads_from TEXT,
     chapter_sum INTEGER NOT NULL,
     owner TEXT,
     process TEXT,
     lease_until REAL,
     starts INTEGER NOT NULL DEFAULT 0,
     starts_at INTEGER NOT NULL DEFAULT 0,
     quiet_until REAL NOT NULL DEFAULT 0,
     due_order REAL,
     asleep INTEGER NOT NULL DEFAULT 0,
     blocked TEXT,
     blocked_sum INTEGER,
     report TEXT,
     report_sum INTEGER,
     marks TEXT,
     marks_sum INTEGER,
     waits_at REAL,
     tags TEXT,
     version TEXT,
     tags_sum INTEGER,
     flow TEXT,
     slot TEXT,
     singleton TEXT,
     fair TEXT NOT NULL DEFAULT '',
     claimed_until REAL,
     ended_at REAL GENERATED ALWAYS AS
       (CASE WHEN status IN ('completed', 'failed', 'cancelled') THEN updated_at END) VIRTUAL
   ) STRICT;
   CREATE INDEX runs_by_status ON runs (status, id);
   CREATE INDEX runs_by_workflow ON runs (workflow, id);
   CREATE INDEX runs_by_parent ON runs (parent, id) WHERE parent IS NOT NULL;
   CREATE INDEX runs_by_run_id ON runs (run_id);
   CREATE INDEX runs_by_created ON runs (created_at, workflow);
   CREATE INDEX runs_by_label ON runs (label) WHERE label IS NOT NULL;
   CREATE INDEX runs_by_version ON runs (version, id) WHERE version IS NOT NULL;
   CREATE INDEX runs_blocked ON runs (id) WHERE blocked IS NOT NULL;
   CREATE INDEX runs_asking ON runs (waits_at) WHERE waits_at IS NOT NULL AND deleted = 0;
   CREATE INDEX runs_ended ON runs (workflow, status, ended_at) WHERE ended_at IS NOT NULL AND deleted = 0;`;

/**
 * A row of `named` is the first batch of a chapter that names a blob. Whether a blob exists is answered by the index of its
 * names, without reading a body. A row of `chapters` is the position of the batch that begins one.
 */
const journals = `CREATE TABLE batches (
     locator TEXT NOT NULL,
     position INTEGER NOT NULL,
     body TEXT NOT NULL,
     sum INTEGER NOT NULL,
     PRIMARY KEY (locator, position)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE chapters (
     locator TEXT NOT NULL,
     position INTEGER NOT NULL,
     PRIMARY KEY (locator, position)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE readers (
     ancestor TEXT NOT NULL,
     reader TEXT NOT NULL,
     PRIMARY KEY (ancestor, reader)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE blobs (
     name TEXT NOT NULL UNIQUE,
     body TEXT NOT NULL,
     sum INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE named (
     name TEXT NOT NULL,
     locator TEXT NOT NULL,
     position INTEGER NOT NULL,
     PRIMARY KEY (name, locator, position)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX named_by_run ON named (locator, position);`;

/** What goes with a run, and what makes a note void: an append, a lease, a deletion. */
const triggers = `CREATE TRIGGER runs_gone AFTER DELETE ON runs
     BEGIN DELETE FROM named WHERE locator = OLD.locator; DELETE FROM chapters WHERE locator = OLD.locator; END;
   CREATE TRIGGER blobs_unnamed AFTER DELETE ON named WHEN NOT EXISTS (SELECT 1 FROM named WHERE name = OLD.name)
     BEGIN DELETE FROM blobs WHERE name = OLD.name; END;
   CREATE TRIGGER runs_unblocked AFTER UPDATE OF length, deleted ON runs
     WHEN OLD.blocked IS NOT NULL AND (NEW.length > OLD.length OR NEW.deleted = 1)
     BEGIN UPDATE runs SET blocked = NULL, blocked_sum = NULL WHERE id = NEW.id; END;
   CREATE TRIGGER runs_unblocked_by_lease AFTER UPDATE OF owner ON runs
     WHEN OLD.blocked IS NOT NULL AND NEW.owner IS NOT NULL
     BEGIN UPDATE runs SET blocked = NULL, blocked_sum = NULL WHERE id = NEW.id; END;
   CREATE TRIGGER runs_unreported AFTER UPDATE OF deleted ON runs WHEN NEW.deleted = 1 AND OLD.report IS NOT NULL
     BEGIN UPDATE runs SET report = NULL, report_sum = NULL WHERE id = NEW.id; END;
   CREATE TRIGGER runs_unmarked AFTER UPDATE OF deleted ON runs WHEN NEW.deleted = 1 AND OLD.marks IS NOT NULL
     BEGIN UPDATE runs SET marks = NULL, marks_sum = NULL, waits_at = NULL WHERE id = NEW.id; END;`;

/** Tags are looked up in a table of their own, which triggers keep: a run without tags writes no page more. */
const tags = `CREATE TABLE tags (
     name TEXT NOT NULL,
     value TEXT NOT NULL,
     run INTEGER NOT NULL,
     PRIMARY KEY (name, value, run)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX tags_by_value ON tags (value, run);
   CREATE TRIGGER runs_tagged AFTER UPDATE OF tags ON runs
     BEGIN DELETE FROM tags WHERE (name, value, run) IN (SELECT key, value, OLD.id FROM json_each(OLD.tags)); INSERT INTO tags
       (name, value, run) SELECT key, value, NEW.id FROM json_each(NEW.tags); END;
   CREATE TRIGGER runs_untagged AFTER UPDATE OF deleted ON runs WHEN NEW.deleted = 1 AND OLD.tags IS NOT NULL
     BEGIN UPDATE runs SET tags = NULL, version = NULL, tags_sum = NULL WHERE id = NEW.id; END;
   CREATE TRIGGER runs_gone_untagged AFTER DELETE ON runs WHEN OLD.tags IS NOT NULL
     BEGIN DELETE FROM tags WHERE (name, value, run) IN (SELECT key, value, OLD.id FROM json_each(OLD.tags)); END;`;

/** What is not part of a run: schedules, pauses of workflows, who purges, and what deleted runs used. */
const others = `CREATE TABLE schedules (
     name TEXT NOT NULL PRIMARY KEY,
     workflow TEXT NOT NULL,
     due_at REAL,
     version TEXT NOT NULL,
     body TEXT NOT NULL,
     sum INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
   CREATE TABLE paused_workflows (
     workflow TEXT NOT NULL PRIMARY KEY,
     reason TEXT,
     since REAL NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE turns (
     name TEXT PRIMARY KEY,
     owner TEXT NOT NULL,
     until REAL NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE spent (
     day TEXT NOT NULL,
     workflow TEXT NOT NULL,
     model TEXT NOT NULL,
     provider TEXT NOT NULL,
     row TEXT NOT NULL,
     PRIMARY KEY (day, workflow, model, provider)
   ) STRICT, WITHOUT ROWID;`;

/** The first step makes all tables of an empty file, and step n brings version n + 2 to n + 3. Released steps never change. */
export const steps: readonly string[] = [
  [runs, journals, triggers, tags, others, dueIndexes, limitTables].join("\n"),
];

/** The version of a file that has all steps. */
const newest = (all: readonly string[]): number => firstVersion - 1 + all.length;

/** The version of a file that this build has made. */
export const schemaVersion = newest(steps);

/** Makes the tables of an empty file, or brings those of an older version up to date. */
export function migrate(database: DatabaseSync, path: string, all = steps): void {
  if (checkVersion(database, path, all) === newest(all)) return;
  database.exec("BEGIN EXCLUSIVE");
  try {
    const done = Math.max(0, versionOf(database, path, all) - firstVersion + 1);
    for (const step of all.slice(done)) database.exec(step);
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${newest(all)}`);
    database.exec("COMMIT");
  } catch (error) {
    rollback(database);
    throw error;
  }
}

/**
 * The schema version of the file; 0 for an empty one. Throws when the file belongs to another program or another version of
 * the library. Reads in one transaction, so that a concurrent migration is seen completely or not at all.
 */
export function checkVersion(database: DatabaseSync, path: string, all = steps): number {
  database.exec("BEGIN");
  try {
    return versionOf(database, path, all);
  } finally {
    rollback(database);
  }
}

function versionOf(database: DatabaseSync, path: string, all: readonly string[]): number {
  const version = numberOf(database, "PRAGMA user_version");
  const application = numberOf(database, "PRAGMA application_id");
  if (application !== applicationId) {
    if (version === 0 && numberOf(database, "SELECT count(*) FROM sqlite_schema") === 0) return 0;
    throw new DurableError(
      "storage-failed",
      `The SQLite file "${path}" belongs to another program. Journals need their own file. Choose another path.`,
    );
  }
  if (version > newest(all) || version < firstVersion)
    throw otherFormat(`The journal file "${path}" has schema`, version, {
      reads: newest(all),
      instead: "Finish its runs with that version, or choose another path.",
    });
  return version;
}

function numberOf(database: DatabaseSync, query: string): number {
  return Number(Object.values(database.prepare(query).get() ?? {})[0]);
}

function rollback(database: DatabaseSync): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // SQLite has rolled back by itself. The first error is the one to report.
  }
}
