/** Every SQL statement of the storage. Values are bound, never written into the text (H65). */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { readCursor } from "../../ports/storage-kit.ts";
import type { ListQuery, RunHead, RunStatus } from "../../ports/storage.ts";

export type Value = string | number | null;
export type Row = Record<string, Value>;
export type Statements = ReturnType<typeof statements>;

const grown = `UPDATE runs SET status = ?, wake_at = ?, updated_at = ?, steps = ?, head_sum = ?, length = length + 1, quiet_until = 0`;
/** The index by wake time, so that a list of due runs never reads runs that sleep or have ended. */
const dueRuns = "runs INDEXED BY runs_due";
/** Matches the same run at the same length, and not an earlier run with its id. */
const unmoved = "WHERE locator = ? AND length = ? AND created_at = ? AND deleted = 0";

export function statements(database: DatabaseSync) {
  return {
    create: database.prepare(
      `INSERT INTO runs (locator, run_id, workflow, created_at, label, parent, ancestors,
         about_sum, status, wake_at, updated_at, steps, head_sum, owner, process, lease_until, length)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (locator) DO NOTHING`,
    ),
    grow: database.prepare(`${grown} ${unmoved}`),
    growAndLease: database.prepare(`${grown}, owner = ?, process = ?, lease_until = ? ${unmoved}`),
    insert: database.prepare("INSERT INTO batches (locator, position, body, sum) VALUES (?, ?, ?, ?)"),
    insertNaming: database.prepare(
      "INSERT INTO batches (locator, position, body, named_sum) VALUES (?, ?, ?, ?)",
    ),
    length: database.prepare("SELECT length FROM runs WHERE locator = ?"),
    // A savepoint also works inside a transaction that could not be rolled back, so reads do not depend on writes.
    snapshot: database.prepare("SAVEPOINT snapshot"),
    release: database.prepare("RELEASE snapshot"),
    run: database.prepare("SELECT * FROM runs WHERE locator = ?"),
    batches: database.prepare(
      "SELECT position, body, ifnull(sum, named_sum) AS sum FROM batches WHERE locator = ? AND position >= ? ORDER BY position",
    ),
    // An outer join, so that a missing blob is detected.
    blobs: database.prepare(
      `SELECT position, named.name, body, sum FROM named LEFT JOIN blobs ON blobs.name = named.name
         WHERE locator = ? AND position >= ? ORDER BY position`,
    ),
    hasBlob: database.prepare("SELECT 1 FROM blobs WHERE name = ?"),
    keepBlob: database.prepare("INSERT INTO blobs (name, body, sum) VALUES (?, ?, ?)"),
    nameBlob: database.prepare("INSERT OR IGNORE INTO named (name, locator, position) VALUES (?, ?, ?)"),
    lease: database.prepare(
      "SELECT length, owner, process, lease_until, starts, starts_at FROM runs WHERE locator = ? AND deleted = 0",
    ),
    takeLease: database.prepare(
      "UPDATE runs SET owner = ?, process = ?, lease_until = ?, starts = ?, starts_at = ? WHERE locator = ?",
    ),
    giveBack: database.prepare(
      "UPDATE runs SET starts = 0, owner = NULL, process = NULL, lease_until = NULL, quiet_until = ? WHERE locator = ? AND owner = ?",
    ),
    drivers: database.prepare(
      `SELECT DISTINCT process FROM ${dueRuns} WHERE wake_at <= ? AND deleted = 0 AND lease_until > ?`,
    ),
    hide: database.prepare("UPDATE runs SET deleted = 1, wake_at = NULL, head_sum = ? WHERE locator = ?"),
    free: database.prepare(
      `SELECT ancestors FROM runs WHERE locator = ? AND deleted = 1
         AND NOT EXISTS (SELECT 1 FROM readers WHERE ancestor = locator)`,
    ),
    addReader: database.prepare("INSERT OR IGNORE INTO readers (ancestor, reader) VALUES (?, ?)"),
    dropReader: database.prepare("DELETE FROM readers WHERE ancestor = ? AND reader = ?"),
    dropBatches: database.prepare("DELETE FROM batches WHERE locator = ?"),
    drop: database.prepare("DELETE FROM runs WHERE locator = ?"),
    version: database.prepare("PRAGMA data_version"),
    list: lists(database),
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

export interface DueNow {
  readonly now: number;
  /** Dead processes, whose leases no longer count. */
  readonly dead: readonly string[];
}

export function listText(query: ListQuery, due: DueNow): { text: string; values: Value[] } {
  const where = ["deleted = 0"];
  const values: Value[] = [];
  const and = (text: string, ...more: Value[]): void => {
    where.push(text);
    values.push(...more);
  };
  const [wakeAt, id] = readCursor(query.cursor) ?? [];
  if (query.workflow !== undefined)
    and("workflow IN (SELECT value FROM json_each(?))", JSON.stringify([query.workflow].flat()));
  if (query.status !== undefined) and("status = ?", query.status);
  if (query.parent !== undefined) and("parent = ?", query.parent);
  if (query.dueAt === undefined) {
    if (id !== undefined) and("id < ?", id);
  } else {
    and("wake_at <= ? AND quiet_until <= ?", query.dueAt, due.now);
    and("(lease_until IS NULL OR lease_until <= ? OR process IN (SELECT value FROM json_each(?)))");
    values.push(due.now, JSON.stringify(due.dead));
    if (wakeAt !== undefined && id !== undefined) and("(wake_at, id) > (?, ?)", wakeAt, id);
  }
  const [from, order] = query.dueAt === undefined ? ["runs", "id DESC"] : [dueRuns, "wake_at, id"];
  return { text: `SELECT * FROM ${from} WHERE ${where.join(" AND ")} ORDER BY ${order} LIMIT ?`, values };
}

export function headOf(row: Row): RunHead {
  return {
    locator: String(row["locator"]),
    runId: String(row["run_id"]),
    workflow: String(row["workflow"]),
    status: String(row["status"]) as RunStatus,
    wakeAt: row["wake_at"] as number | null,
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
    steps: Number(row["steps"]),
    label: row["label"] as string | null,
    parent: row["parent"] as string | null,
    ancestors: JSON.parse(String(row["ancestors"])) as string[],
  };
}
