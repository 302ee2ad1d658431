/**
 * Schedules in a SQLite file. A row that differs from what was written is reported as `corrupt`, as for runs (sums.ts).
 * There are few schedules, so their statements are prepared when they are used.
 */

import type { DatabaseSync } from "node:sqlite";
import type { ScheduleStore, StoredSchedule, StoredScheduleQuery } from "../../ports/schedules.ts";
import { pageSize } from "../../ports/storage-kit.ts";
import type { Row, Value } from "./statements.ts";
import { damaged, sumOf } from "./sums.ts";

const columns = "name, workflow, due_at, version, body, sum";

/** How the storage reads and writes: inside a commit, and after a check of the file. */
export interface Access {
  readonly read: <T>(work: (database: DatabaseSync) => T) => Promise<T>;
  readonly write: <T>(work: (database: DatabaseSync) => T) => Promise<T>;
}

export function schedulesIn({ read, write }: Access, path: string): ScheduleStore {
  const found = (row: unknown): StoredSchedule => scheduleOf(row as Row, path);
  return {
    get: (name) =>
      read((database) => {
        const row = database.prepare(`SELECT ${columns} FROM schedules WHERE name = ?`).get(name);
        return row === undefined ? null : found(row);
      }),
    list: (query = {}) =>
      read((database) => {
        const { text, values } = listText(query);
        return database
          .prepare(text)
          .all(...values)
          .map(found);
      }),
    put: (schedule, version) =>
      write((database) => {
        const { name, workflow, dueAt, version: next, text } = schedule;
        const values = [workflow, dueAt, next, text, sumOf([name, workflow, dueAt, next, text])];
        const { changes } =
          version === null
            ? database
                .prepare(
                  `INSERT INTO schedules (workflow, due_at, version, body, sum, name) VALUES (?, ?, ?, ?, ?, ?)
                     ON CONFLICT (name) DO NOTHING`,
                )
                .run(...values, name)
            : database
                .prepare(
                  `UPDATE schedules SET workflow = ?, due_at = ?, version = ?, body = ?, sum = ?
                     WHERE name = ? AND version = ?`,
                )
                .run(...values, name, version);
        return Number(changes) === 1;
      }),
    delete: (name, version) =>
      write((database) => {
        const statement = database.prepare("DELETE FROM schedules WHERE name = ? AND version = ?");
        return Number(statement.run(name, version).changes) === 1;
      }),
  };
}

function listText({ workflow, dueAt, after = "", limit }: StoredScheduleQuery): {
  readonly text: string;
  readonly values: Value[];
} {
  const places = (workflow ?? []).map(() => "?").join(", ");
  const ofWorkflow = workflow === undefined ? "" : ` AND workflow IN (${places})`;
  const [where, order] =
    dueAt === undefined ? ["name > ?", "name"] : ["due_at IS NOT NULL AND due_at <= ?", "due_at, name"];
  return {
    text: `SELECT ${columns} FROM schedules WHERE ${where}${ofWorkflow} ORDER BY ${order} LIMIT ?`,
    values: [dueAt ?? after, ...(workflow ?? []), pageSize(limit)],
  };
}

function scheduleOf(row: Row, path: string): StoredSchedule {
  const { name = null, workflow = null, due_at: dueAt = null, version = null, body = null, sum } = row;
  if (sum !== sumOf([name, workflow, dueAt, version, body]))
    throw damaged(path, `schedule ${String(name)} differs from what was written`);
  return {
    name: String(name),
    workflow: String(workflow),
    dueAt: dueAt === null ? null : Number(dueAt),
    version: String(version),
    text: String(body),
  };
}
