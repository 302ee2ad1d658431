/** Every SQL statement of the storage. Values are bound, never written into the text (H65). */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { damagedHead, dueSinceOf, noted, readMarks, type SearchedRow } from "../../ports/storage-kit.ts";
import type { BlockedNote, RunFlow, RunHead, RunStatus } from "../../ports/storage.ts";
import { dueWork, endedRuns } from "./due-statements.ts";
import { limiting } from "./limit-statements.ts";
import { numbered } from "./numbered.ts";
import { isDead } from "./process.ts";
import { checkRun } from "./sums.ts";

export type Value = string | number | null;
export type Row = Record<string, Value>;
export type Statements = ReturnType<typeof statements>;

const grown = `UPDATE runs SET status = ?, wake_at = ?, updated_at = ?, steps = ?, due_order = ?, head_sum = ?,
         asleep = ?, length = length + 1, quiet_until = 0`;
/** Matches the same run at the same length, and not an earlier run with its id. */
const unmoved = "WHERE locator = ? AND length = ? AND created_at = ? AND deleted = 0";

export function statements(database: DatabaseSync) {
  const [append, read, lease] = [appending(database), reading(database), leasing(database)];
  return { ...append, ...read, ...lease, ...dropping(database), ...dueWork(database), ...limiting(database) };
}

/** An append: the head, the batch, its blobs and the readers. */
function appending(database: DatabaseSync) {
  return {
    create: database.prepare(
      `INSERT INTO runs (id, locator, run_id, workflow, created_at, label, parent, ancestors,
         about_sum, reads_from, chapter_sum, status, wake_at, updated_at, steps, due_order, head_sum, asleep,
         owner, process, lease_until, length)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (locator) DO NOTHING`,
    ),
    lastPlace: database.prepare("SELECT max(id) AS id FROM runs WHERE id >= ? AND id < ?"),
    grow: database.prepare(`${grown} ${unmoved}`),
    // Most appends change neither the status nor the driver. Naming no indexed column, this one writes two pages less.
    growOn: database.prepare(
      `UPDATE runs SET updated_at = ?, steps = ?, head_sum = ?, length = length + 1, quiet_until = 0, lease_until = ?
         ${unmoved} AND status = ? AND wake_at IS ? AND due_order IS ? AND owner = ? AND process = ?`,
    ),
    growAndLease: database.prepare(`${grown}, owner = ?, process = ?, lease_until = ? ${unmoved}`),
    insert: database.prepare("INSERT INTO batches (locator, position, body, sum) VALUES (?, ?, ?, ?)"),
    setReport: database.prepare("UPDATE runs SET report = ?, report_sum = ? WHERE locator = ?"),
    setMarks: database.prepare("UPDATE runs SET marks = ?, marks_sum = ?, waits_at = ? WHERE locator = ?"),
    hasBlob: database.prepare("SELECT 1 FROM blobs WHERE name = ?"),
    keepBlob: database.prepare("INSERT INTO blobs (name, body, sum) VALUES (?, ?, ?)"),
    // Once per chapter. The last value is the position of the chapter.
    nameBlob: numbered(
      database,
      `INSERT INTO named (name, locator, position) SELECT ?1, ?2, ?3
         WHERE NOT EXISTS (SELECT 1 FROM named WHERE name = ?1 AND locator = ?2 AND position >= ?4)`,
    ),
    taggedAs: database.prepare("SELECT tags, version FROM runs WHERE locator = ?"),
    setTags: database.prepare("UPDATE runs SET tags = ?, version = ?, tags_sum = ? WHERE locator = ?"),
    setVersion: database.prepare("UPDATE runs SET version = ?, tags_sum = ? WHERE locator = ?"),
    addReader: database.prepare("INSERT OR IGNORE INTO readers (ancestor, reader) VALUES (?, ?)"),
  };
}

/** Reads and lists. */
function reading(database: DatabaseSync) {
  return {
    length: database.prepare("SELECT length FROM runs WHERE locator = ?"),
    // A savepoint also works inside a transaction that could not be rolled back, so reads do not depend on writes.
    snapshot: database.prepare("SAVEPOINT snapshot"),
    release: database.prepare("RELEASE snapshot"),
    run: database.prepare("SELECT * FROM runs WHERE locator = ?"),
    batches: database.prepare(
      "SELECT position, body, sum FROM batches WHERE locator = ? AND position >= ? ORDER BY position",
    ),
    // An outer join, so that a missing blob is detected.
    blobs: database.prepare(
      `SELECT position, named.name, body, sum FROM named LEFT JOIN blobs ON blobs.name = named.name
         WHERE locator = ? AND position >= ? ORDER BY position`,
    ),
    // The beginning of an earlier chapter, after that of the chapter that follows it.
    chaptersBack: database.prepare(
      "SELECT position FROM chapters WHERE locator = ? ORDER BY position DESC LIMIT 2 OFFSET ?",
    ),
    // From one name to the next, so that it costs as many steps as there are names.
    nextEndedWorkflow: database.prepare(
      `SELECT min(workflow) AS name FROM ${endedRuns} WHERE ended_at IS NOT NULL AND deleted = 0 AND workflow > ?`,
    ),
    version: database.prepare("PRAGMA data_version"),
    list: lists(database),
  };
}

/** Leases, notes and deletion. */
function leasing(database: DatabaseSync) {
  return {
    lease: database.prepare(
      `SELECT locator, run_id, workflow, slot, length, owner, process, lease_until, starts, starts_at, blocked, blocked_sum
         FROM runs WHERE locator = ? AND deleted = 0`,
    ),
    takeLease: database.prepare(
      "UPDATE runs SET owner = ?, process = ?, lease_until = ?, starts = ?, starts_at = ? WHERE locator = ?",
    ),
    untakeLease: database.prepare(
      "UPDATE runs SET starts = ?, starts_at = ?, owner = NULL, process = NULL, lease_until = NULL WHERE locator = ?",
    ),
    note: database.prepare(
      `UPDATE runs SET blocked = ?, blocked_sum = ? WHERE locator = ? AND deleted = 0 AND length = ?`,
    ),
    pause: database.prepare(
      "INSERT OR REPLACE INTO paused_workflows (workflow, reason, since) VALUES (?, ?, ?)",
    ),
    unpause: database.prepare("DELETE FROM paused_workflows WHERE workflow = ?"),
    paused: database.prepare("SELECT workflow, reason, since FROM paused_workflows"),
    giveBack: database.prepare(
      "UPDATE runs SET starts = 0, owner = NULL, process = NULL, lease_until = NULL, quiet_until = ? WHERE locator = ? AND owner = ?",
    ),
    quiet: database.prepare("UPDATE runs SET quiet_until = ? WHERE locator = ?"),
    // The lease of a driver that died ends here, and its name goes, because it would end the quiet time as well. Its start
    // still counts.
    // The owner stays, so that the next one knows that it takes over.
    quietAndUnlease: database.prepare(
      "UPDATE runs SET quiet_until = ?, process = NULL, lease_until = NULL WHERE locator = ?",
    ),
    hide: database.prepare(
      "UPDATE runs SET deleted = 1, wake_at = NULL, due_order = NULL, head_sum = ? WHERE locator = ?",
    ),
    free: database.prepare(
      `SELECT ancestors FROM runs WHERE locator = ? AND deleted = 1
         AND NOT EXISTS (SELECT 1 FROM readers WHERE ancestor = locator)`,
    ),
    takeTurn: database.prepare(
      `INSERT INTO turns (name, owner, until) VALUES (?, ?, ?) ON CONFLICT (name)
         DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE owner = excluded.owner OR until <= ?`,
    ),
    spent: database.prepare("SELECT row FROM spent ORDER BY day, workflow, model, provider"),
    spentRow: database.prepare(
      "SELECT row FROM spent WHERE day = ? AND workflow = ? AND model = ? AND provider = ?",
    ),
    keepSpent: database.prepare(
      "INSERT OR REPLACE INTO spent (day, workflow, model, provider, row) VALUES (?, ?, ?, ?, ?)",
    ),
    dropReader: database.prepare("DELETE FROM readers WHERE ancestor = ? AND reader = ?"),
    dropBatches: database.prepare("DELETE FROM batches WHERE locator = ?"),
    drop: database.prepare("DELETE FROM runs WHERE locator = ?"),
  };
}

/** Chapters: what the head says about them, and dropping them. */
function dropping(database: DatabaseSync) {
  return {
    setChapter: database.prepare("UPDATE runs SET chapter = ?, chapter_sum = ? WHERE locator = ?"),
    addChapter: database.prepare("INSERT INTO chapters (locator, position) VALUES (?, ?)"),
    hasChapter: database.prepare("SELECT 1 FROM chapters WHERE locator = ? AND position = ?"),
    partOf: database.prepare("SELECT chapter, dropped, reads_from FROM runs WHERE locator = ?"),
    readers: database.prepare(
      `SELECT ancestors, reads_from FROM readers JOIN runs ON runs.locator = readers.reader
         WHERE readers.ancestor = ?`,
    ),
    setDropped: database.prepare("UPDATE runs SET dropped = ?, chapter_sum = ? WHERE locator = ?"),
    dropEarlyBatches: database.prepare("DELETE FROM batches WHERE locator = ? AND position < ?"),
    dropEarlyNames: database.prepare("DELETE FROM named WHERE locator = ? AND position < ?"),
    dropEarlyChapters: database.prepare("DELETE FROM chapters WHERE locator = ? AND position < ?"),
  };
}

/** Prepares each distinct text of a list once; there are only a few. */
function lists(database: DatabaseSync): (text: string, values: readonly Value[]) => Row[] {
  const known = new Map<string, StatementSync>();
  return (text, values) => {
    const statement = known.get(text) ?? database.prepare(text);
    known.set(text, statement);
    return statement.all(...values) as Row[];
  };
}

/** The head of a run as claims show it, with its note; one that is damaged is `blocked`. */
export function notedHead(row: Row, path: string): RunHead {
  const found = believed(row, path);
  return typeof found === "string" ? damagedRow(row, found) : noted(found.head, found.note);
}

/** What a search for a text reads. */
export function textsOf(row: Row): SearchedRow {
  const [label, tags] = [row["label"] ?? null, row["tags"] ?? null];
  return {
    runId: String(row["run_id"]),
    label: label === null ? null : String(label),
    tags: tags === null ? null : String(tags),
  };
}

/** The heads of runs as lists show them: it is also said whether they have a driver. */
export function listedHeads(rows: readonly Row[], now: number, path: string): RunHead[] {
  const alive = new Map<Value, boolean>();
  return rows.map((row) => {
    const { process = null } = row;
    if (!alive.has(process)) alive.set(process, !isDead(String(process)));
    return { ...notedHead(row, path), driven: isLeased(row, now) && alive.get(process) === true };
  });
}

/** The head of a row and its note, or why they cannot be believed: also a row whose checksums were made anew may be no head. */
export function believed(
  row: Row,
  path: string,
): { readonly head: RunHead; readonly note: BlockedNote | null } | string {
  try {
    checkRun(row, path);
    return { head: headOf(row), note: noteOf(row) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The head of a row that is not as it was written. */
function damagedRow(row: Row, problem: string): RunHead {
  const [locator, runId, workflow] = ["locator", "run_id", "workflow"].map((name) => String(row[name]));
  const [createdAt, updatedAt] = [Number(row["created_at"]), Number(row["updated_at"])];
  const named = { locator: locator ?? "", runId: runId ?? "", workflow: workflow ?? "" };
  return damagedHead({ ...named, createdAt, updatedAt }, problem);
}

/** True while the lease of a row lasts. Whether its driver has died is another question. */
export function isLeased({ lease_until: until = null }: Row, now: number): boolean {
  return until !== null && Number(until) > now;
}

export function headOf(row: Row): RunHead {
  // Checksums do not tell an empty text from none.
  const [readsFrom, flow, tags, marks] = ["reads_from", "flow", "tags", "marks"].map(
    (name) => row[name] || null,
  );
  const { chapter = null, report = null, version = null } = row;
  const limits = flow === null ? undefined : (JSON.parse(String(flow)) as RunFlow);
  return {
    locator: String(row["locator"]),
    runId: String(row["run_id"]),
    workflow: String(row["workflow"]),
    status: String(row["status"]) as RunStatus,
    wakeAt: row["wake_at"] as number | null,
    dueSince: dueSinceOf(row["due_order"] as number | null, limits),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
    steps: Number(row["steps"]),
    label: row["label"] as string | null,
    parent: row["parent"] as string | null,
    ancestors: JSON.parse(String(row["ancestors"])) as string[],
    ...(readsFrom !== null && { readsFrom: JSON.parse(String(readsFrom)) as number[] }),
    ...(chapter !== null && { chapter: Number(chapter) }),
    ...(report !== null && { report: String(report) }),
    ...(limits !== undefined && { flow: limits }),
    ...(tags !== null && { tags: JSON.parse(String(tags)) as Record<string, string> }),
    ...(version !== null && { version: String(version) }),
    ...readMarks(marks as string | null),
  };
}

/** The note of a run, from its row; a note that is void is no longer there. */
export function noteOf({ blocked = null }: Row): BlockedNote | null {
  if (blocked === null) return null;
  const [code, message, since, length] = JSON.parse(String(blocked)) as [string, string, number, number];
  return { code, message, since, length };
}

/** A note as its row has it. */
export function noteText({ code, message, since, length }: BlockedNote): string {
  return JSON.stringify([code, message, since, length]);
}
