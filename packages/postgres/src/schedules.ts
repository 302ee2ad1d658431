/** Schedules in Postgres. */

import type { ScheduleStore, StoredSchedule } from "@durable/core/storage";
import { pageSize } from "@durable/core/storage";
import type { Database } from "./database.ts";
import { listSchedulesText } from "./sql/schedules.ts";
import { put, take } from "./text.ts";

interface ScheduleRow {
  readonly name: string;
  readonly workflow: string;
  readonly due_at: number | null;
  readonly version: string;
  readonly body: string;
}

export function schedulesIn(database: Database, schema: string): ScheduleStore {
  const isTrue = (text: string, values: unknown[]): Promise<boolean> =>
    database.do(async () => (await database.rows<{ done: boolean }>(text, values))[0]?.done === true);
  return {
    get: (name) =>
      database.do(async () => {
        const text = `SELECT name, workflow, due_at, version, body FROM ${schema}.schedules WHERE name = $1`;
        const [row] = await database.rows<ScheduleRow>(text, [put(name)]);
        return row === undefined ? null : scheduleOf(row);
      }),
    list: ({ workflow, dueAt, after = "", limit } = {}) =>
      database.do(async () => {
        const values = [workflow?.map(put) ?? null, dueAt ?? put(after), pageSize(limit)];
        const text = listSchedulesText(schema, dueAt !== undefined);
        return (await database.rows<ScheduleRow>(text, values)).map(scheduleOf);
      }),
    put: ({ name, workflow, dueAt, version: next, text: body }, version) =>
      isTrue(`SELECT ${schema}.put_schedule($1, $2, $3, $4, $5, $6) AS done`, [
        put(name),
        put(workflow),
        dueAt,
        put(next),
        put(body),
        version === null ? null : put(version),
      ]),
    delete: (name, version) =>
      isTrue(`SELECT ${schema}.delete_schedule($1, $2) AS done`, [put(name), put(version)]),
  };
}

function scheduleOf({ name, workflow, due_at: dueAt, version, body }: ScheduleRow): StoredSchedule {
  return { name: take(name), workflow: take(workflow), dueAt, version: take(version), text: take(body) };
}
