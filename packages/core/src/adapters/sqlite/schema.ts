/**
 * The tables, and the migrations of older files.
 *
 * schema.1. One process migrates at a time: all steps run in one exclusive transaction, which first reads the version again.
 * schema.2. The version changes in the same transaction, so a process that is killed half-way leaves the file unchanged.
 * schema.3. A file of a newer version of the library, or of another program, is refused and not changed.
 * schema.4. Additions keep the version, so that builds without them still open the file. They are made in the same
 *     transaction, and whatever such a build writes leaves the new tables and columns right, by triggers.
 */

import type { DatabaseSync } from "node:sqlite";
import { DurableError } from "../../values/errors.ts";
import { dueTables } from "./due-statements.ts";
import { limitTables } from "./limit-statements.ts";

/** "durb" in the file's header marks it as a file of this library. */
const applicationId = 0x64757262;

/** Step n brings a file from version n to n + 1. Steps are never changed once released. */
export const migrations: readonly string[] = [
  `CREATE TABLE runs (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     locator TEXT NOT NULL UNIQUE,
     run_id TEXT NOT NULL,
     workflow TEXT NOT NULL,
     status TEXT NOT NULL,
     wake_at REAL,
     created_at REAL NOT NULL,
     updated_at REAL NOT NULL,
     steps INTEGER NOT NULL,
     label TEXT,
     parent TEXT,
     ancestors TEXT NOT NULL,
     length INTEGER NOT NULL,
     owner TEXT,
     process TEXT,
     lease_until REAL,
     starts INTEGER NOT NULL DEFAULT 0,
     starts_at INTEGER NOT NULL DEFAULT 0,
     quiet_until REAL NOT NULL DEFAULT 0,
     deleted INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE batches (
     locator TEXT NOT NULL,
     position INTEGER NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (locator, position)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE readers (
     ancestor TEXT NOT NULL,
     reader TEXT NOT NULL,
     PRIMARY KEY (ancestor, reader)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX runs_due ON runs (wake_at) WHERE wake_at IS NOT NULL AND deleted = 0;
   CREATE INDEX runs_by_status ON runs (status, id);
   CREATE INDEX runs_by_workflow ON runs (workflow, id);
   CREATE INDEX runs_by_parent ON runs (parent, id) WHERE parent IS NOT NULL;`,
  // Checksums are added without reading the rows, so a large file is migrated as quickly as a small one. An older
  // version that still has the file open does not write them, so the trigger removes the checksum of what it changes.
  `ALTER TABLE batches ADD COLUMN sum INTEGER;
   ALTER TABLE runs ADD COLUMN about_sum INTEGER;
   ALTER TABLE runs ADD COLUMN head_sum INTEGER;
   CREATE TRIGGER runs_unsummed AFTER UPDATE OF length, deleted ON runs WHEN NEW.head_sum IS OLD.head_sum
     BEGIN UPDATE runs SET head_sum = NULL WHERE id = NEW.id; END;`,
  // Whether a blob exists is answered by the index of its names, without reading a body. Older versions may still have
  // the file open: triggers remove the blobs of what they delete, and checksums that cover names are in a column that
  // they do not read.
  `CREATE TABLE blobs (
     name TEXT NOT NULL UNIQUE,
     body TEXT NOT NULL,
     sum INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE named (
     name TEXT NOT NULL,
     locator TEXT NOT NULL,
     position INTEGER NOT NULL,
     PRIMARY KEY (name, locator)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX named_by_run ON named (locator, position);
   ALTER TABLE batches ADD COLUMN named_sum INTEGER;
   CREATE TRIGGER runs_unnamed AFTER DELETE ON runs
     BEGIN DELETE FROM named WHERE locator = OLD.locator; END;
   CREATE TRIGGER blobs_unnamed AFTER DELETE ON named WHEN NOT EXISTS (SELECT 1 FROM named WHERE name = OLD.name)
     BEGIN DELETE FROM blobs WHERE name = OLD.name; END;`,
];

/** Tables, columns, indexes and triggers that a file of the newest version may lack. */
export interface Addition {
  /** The name of something that it creates: a file that has it has the whole addition. */
  readonly sign: string;
  readonly text: string;
}

/** When a run ended. Computed, so that whatever build ends a run leaves it right. A run that goes on is not in the index. */
const ended = `ALTER TABLE runs ADD COLUMN ended_at REAL GENERATED ALWAYS AS
     (CASE WHEN status IN ('completed', 'failed', 'cancelled') THEN updated_at END) VIRTUAL;
   CREATE INDEX runs_ended ON runs (workflow, status, ended_at) WHERE ended_at IS NOT NULL AND deleted = 0;
   CREATE TABLE turns (
     name TEXT PRIMARY KEY,
     owner TEXT NOT NULL,
     until REAL NOT NULL
   ) STRICT, WITHOUT ROWID;`;

/**
 * Tags are looked up in a table of their own, which triggers keep: a run without tags writes no page more. What is found by
 * time or id is indexed when a run is created. Versions of runs that have not ended are read from their journals; a run that
 * a build without this addition begins later has none.
 */
const finding = `ALTER TABLE runs ADD COLUMN tags TEXT;
   ALTER TABLE runs ADD COLUMN version TEXT;
   ALTER TABLE runs ADD COLUMN tags_sum INTEGER;
   CREATE TABLE tags (
     name TEXT NOT NULL,
     value TEXT NOT NULL,
     run INTEGER NOT NULL,
     PRIMARY KEY (name, value, run)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX tags_by_value ON tags (value, run);
   CREATE INDEX runs_by_run_id ON runs (run_id);
   CREATE INDEX runs_by_created ON runs (created_at, workflow);
   CREATE INDEX runs_by_label ON runs (label) WHERE label IS NOT NULL;
   CREATE INDEX runs_by_version ON runs (version, id) WHERE version IS NOT NULL;
   CREATE INDEX runs_due_by_version ON runs (workflow, version, wake_at)
     WHERE version IS NOT NULL AND wake_at IS NOT NULL AND deleted = 0;
   CREATE TRIGGER runs_tagged AFTER UPDATE OF tags ON runs
     BEGIN DELETE FROM tags WHERE (name, value, run) IN (SELECT key, value, OLD.id FROM json_each(OLD.tags)); INSERT INTO tags
       (name, value, run) SELECT key, value, NEW.id FROM json_each(NEW.tags); END;
   CREATE TRIGGER runs_untagged AFTER UPDATE OF deleted ON runs WHEN NEW.deleted = 1 AND OLD.tags IS NOT NULL
     BEGIN UPDATE runs SET tags = NULL, tags_sum = NULL WHERE id = NEW.id; END;
   CREATE TRIGGER runs_gone_untagged AFTER DELETE ON runs WHEN OLD.tags IS NOT NULL
     BEGIN DELETE FROM tags WHERE (name, value, run) IN (SELECT key, value, OLD.id FROM json_each(OLD.tags)); END;
   UPDATE runs SET version = (
       SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.entries[0].version') END FROM batches
         WHERE batches.locator = runs.locator AND position = ifnull(chapter, 0) - ifnull(dropped, 0))
     WHERE wake_at IS NOT NULL AND deleted = 0;`;

/** Schedules are read by builds that know them, and by no other. */
const scheduling = `CREATE TABLE schedules (
     name TEXT NOT NULL PRIMARY KEY,
     workflow TEXT NOT NULL,
     due_at REAL,
     version TEXT NOT NULL,
     body TEXT NOT NULL,
     sum INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;`;

/** A build without it drives the runs of a paused workflow. Paused runs it refuses, by the kind of their entries. */
const pausing = `CREATE TABLE paused_workflows (
     workflow TEXT NOT NULL PRIMARY KEY,
     reason TEXT,
     since REAL NOT NULL
   ) STRICT, WITHOUT ROWID;`;

/** A build without reports cannot read a run that has one: its batches have entries that the build does not know. */
const reporting = `ALTER TABLE runs ADD COLUMN report TEXT;
   ALTER TABLE runs ADD COLUMN report_sum INTEGER;
   CREATE TRIGGER runs_unreported AFTER UPDATE OF deleted ON runs WHEN NEW.deleted = 1 AND OLD.report IS NOT NULL
     BEGIN UPDATE runs SET report = NULL, report_sum = NULL WHERE id = NEW.id; END;`;

/**
 * Not a further step, because a build refuses a file whose version it does not know. Builds without these additions may
 * have the file open, or open it later, and must be able to continue the runs that they can read. Such a build inserts
 * rows by naming their columns, so new columns that may be NULL do not concern it. It refuses runs with chapters by the
 * format of their batches. Additions are never changed once released; those of one release are one addition.
 *
 * - `dropped` batches were removed. All other positions in the file count from the first batch that is kept, so that a
 *   build without additions finds a journal without a gap, whose first batch has a format that it refuses.
 * - `named` has the first batch that names a blob, `named_again` the first of each later chapter. A checksum that covers
 *   names of the latter is in a column that a build without additions does not read.
 * - A note in `blocked` is removed by whatever makes it void: an append, a lease, a deletion.
 * - A build that does not know `reads_from` cannot make a fork of a run that has dropped batches.
 * - Such a build may have a run in memory from before its first chapter, and find as many batches in the file as it
 *   knows. It cannot add one: from the first drop on, every batch has its checksum in the column it does not know.
 */
export const additions: readonly Addition[] = [
  {
    sign: "named_again_by_name",
    text: `ALTER TABLE runs ADD COLUMN chapter INTEGER;
   ALTER TABLE runs ADD COLUMN dropped INTEGER;
   ALTER TABLE runs ADD COLUMN reads_from TEXT;
   ALTER TABLE runs ADD COLUMN chapter_sum INTEGER;
   ALTER TABLE runs ADD COLUMN blocked TEXT;
   ALTER TABLE runs ADD COLUMN blocked_sum INTEGER;
   ALTER TABLE batches ADD COLUMN again_sum INTEGER;
   CREATE TABLE chapters (
     locator TEXT NOT NULL,
     position INTEGER NOT NULL,
     PRIMARY KEY (locator, position)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE named_again (
     locator TEXT NOT NULL,
     position INTEGER NOT NULL,
     name TEXT NOT NULL,
     PRIMARY KEY (locator, position, name)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX named_again_by_name ON named_again (locator, name, position);
   CREATE INDEX runs_blocked ON runs (id) WHERE blocked IS NOT NULL;
   CREATE INDEX runs_due_by_workflow ON runs (workflow, wake_at) WHERE wake_at IS NOT NULL AND deleted = 0;
   CREATE TRIGGER runs_unblocked AFTER UPDATE OF length, deleted ON runs
     WHEN OLD.blocked IS NOT NULL AND (NEW.length > OLD.length OR NEW.deleted = 1)
     BEGIN UPDATE runs SET blocked = NULL, blocked_sum = NULL WHERE id = NEW.id; END;
   CREATE TRIGGER runs_unblocked_by_lease AFTER UPDATE OF owner ON runs
     WHEN OLD.blocked IS NOT NULL AND NEW.owner IS NOT NULL
     BEGIN UPDATE runs SET blocked = NULL, blocked_sum = NULL WHERE id = NEW.id; END;
   CREATE TRIGGER runs_unchaptered AFTER DELETE ON runs WHEN OLD.chapter IS NOT NULL
     BEGIN DELETE FROM chapters WHERE locator = OLD.locator; DELETE FROM named_again WHERE locator = OLD.locator; END;
   CREATE TRIGGER readers_undropped BEFORE INSERT ON readers
     WHEN (SELECT dropped FROM runs WHERE locator = NEW.ancestor) > 0
       AND (SELECT reads_from FROM runs WHERE locator = NEW.reader) IS NULL
     BEGIN SELECT RAISE(ABORT, 'The ancestor has dropped batches that this fork reads.'); END;
   CREATE TRIGGER batches_undropped BEFORE INSERT ON batches
     WHEN NEW.again_sum IS NULL AND (SELECT dropped FROM runs WHERE locator = NEW.locator) > 0
     BEGIN SELECT RAISE(ABORT, 'The run has dropped chapters, which this build cannot continue. Upgrade @durable/core.'); END;`,
  },
  // A build without these drives a run that has a slot, and does not count it.
  {
    sign: "runs_by_slot",
    text: [ended, finding, scheduling, pausing, reporting, limitTables].join("\n"),
  },
  { sign: "runs_due_in_order", text: dueTables },
];

/** Migrates the file to the newest version. Additions belong to the newest version, and to no older one. */
export function migrate(
  database: DatabaseSync,
  path: string,
  steps = migrations,
  added = steps === migrations ? additions : [],
): void {
  if (checkVersion(database, path, steps) === steps.length && missing(database, added).length === 0) return;
  database.exec("BEGIN EXCLUSIVE");
  try {
    for (const step of steps.slice(versionOf(database, path, steps))) database.exec(step);
    for (const { text } of missing(database, added)) database.exec(text);
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}`);
    database.exec("COMMIT");
  } catch (error) {
    rollback(database);
    throw error;
  }
}

/** The additions that the file does not have. */
function missing(database: DatabaseSync, added: readonly Addition[]): Addition[] {
  return added.filter(
    ({ sign }) => numberOf(database, `SELECT count(*) FROM sqlite_schema WHERE name = '${sign}'`) === 0,
  );
}

/**
 * The schema version of the file. Throws when the file belongs to another program or a newer version of the library.
 * Reads in one transaction, so that a concurrent migration is seen completely or not at all.
 */
export function checkVersion(database: DatabaseSync, path: string, steps = migrations): number {
  database.exec("BEGIN");
  try {
    return versionOf(database, path, steps);
  } finally {
    rollback(database);
  }
}

function versionOf(database: DatabaseSync, path: string, steps: readonly string[]): number {
  const version = numberOf(database, "PRAGMA user_version");
  const application = numberOf(database, "PRAGMA application_id");
  if (application !== applicationId) {
    if (version === 0 && numberOf(database, "SELECT count(*) FROM sqlite_schema") === 0) return 0;
    throw new DurableError(
      "storage-failed",
      `The SQLite file "${path}" belongs to another program. Journals need their own file. Choose another path.`,
    );
  }
  if (version <= steps.length) return version;
  throw new DurableError(
    "newer-format",
    `The journal file "${path}" has schema ${version}, newer than this build reads (${steps.length}). Upgrade @durable/core in this process.`,
  );
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
