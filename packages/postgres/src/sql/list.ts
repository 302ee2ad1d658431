/** The text of a list. Values are bound, never written into the text (H65). */

import { readCursor, workflowsOf } from "@durable/core/storage-kit";
import type { ListQuery } from "@durable/core";
import { put } from "../text.ts";
import { clock } from "./append.ts";
import { allWorkflows, columns, dueRuns } from "./due.ts";

export interface ListText {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What a list of due runs needs to know. */
export interface DueNow {
  /** The clock of the caller; `null` is that of the server. */
  readonly now: number | null;
  readonly dead: readonly string[];
}

/** At most `most` rows of a query, in the order of the list. */
export function listText(schema: string, query: ListQuery, most: number, due: DueNow): ListText {
  const values: unknown[] = [];
  const bind = (value: unknown, type: string): string => `$${values.push(value)}::${type}`;
  const cursor = readCursor(query.cursor);
  const and = filters(query, bind);
  const workflows = workflowsOf(query);
  const limit = bind(most, "int");
  const of = workflows === null ? null : bind(workflows.map(put), "text[]");
  if (query.dueAt !== undefined) {
    const [wakeAt, id] = cursor ?? [];
    if (wakeAt !== undefined && id !== undefined)
      and.push(`(r.wake_at, r.id) > (${bind(wakeAt, "float8")}, ${bind(id, "bigint")})`);
    const rows = dueRuns(schema, {
      columns: "r.*",
      workflow: "w.name",
      dueAt: bind(query.dueAt, "float8"),
      now: clock(bind(due.now, "float8")),
      dead: bind(due.dead.map(put), "text[]"),
      most: limit,
      and: and.map((one) => `AND ${one}`).join(" "),
    });
    const source = of === null ? `(${allWorkflows(schema)})` : `unnest(${of})`;
    const text = `SELECT ${columns} FROM ${source} AS w (name) CROSS JOIN LATERAL (
    ${rows}
  ) AS r ORDER BY r.wake_at, r.id LIMIT ${limit}`;
    return { text, values };
  }
  if (cursor?.[1] !== undefined) and.push(`r.id < ${bind(cursor[1], "bigint")}`);
  const where = ["NOT r.deleted", ...and].join(" AND ");
  const newest = (more: string): string =>
    `SELECT r.* FROM ${schema}.runs r WHERE ${where}${more} ORDER BY r.id DESC LIMIT ${limit}`;
  const source =
    of === null
      ? `(${newest("")}) AS r`
      : `unnest(${of}) AS w (name) CROSS JOIN LATERAL (${newest(" AND r.workflow = w.name")}) AS r`;
  return { text: `SELECT ${columns} FROM ${source} ORDER BY r.id DESC LIMIT ${limit}`, values };
}

function filters({ status, parent }: ListQuery, bind: (value: unknown, type: string) => string): string[] {
  const and: string[] = [];
  if (status === "blocked") and.push("r.blocked IS NOT NULL");
  else if (status !== undefined) and.push("r.blocked IS NULL", `r.status = ${bind(status, "text")}`);
  if (parent !== undefined) and.push(`r.parent = ${bind(put(parent), "text")}`);
  return and;
}
