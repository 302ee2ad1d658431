/** The text of a list. Values are bound, never written into the text (H65). */

import { readCursor, workflowsOf } from "@durable/core/storage-kit";
import type { ListQuery } from "@durable/core";
import { put } from "../text.ts";
import { clock } from "./append.ts";
import { allWorkflows, columns as claimed, dueRuns } from "./due.ts";

/** A claim, which a released function makes, has no reports. */
const columns = `${claimed}, r.report`;

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
    const source =
      workflows === null ? `(${allWorkflows(schema)})` : `unnest(${bind(workflows.map(put), "text[]")})`;
    const text = `SELECT ${columns} FROM ${source} AS w (name) CROSS JOIN LATERAL (
    ${rows}
  ) AS r ORDER BY r.wake_at, r.id LIMIT ${limit}`;
    return { text, values };
  }
  if (cursor?.[1] !== undefined) and.push(`r.id < ${bind(cursor[1], "bigint")}`);
  const newest = (more: readonly string[]): string =>
    `(SELECT r.* FROM ${schema}.runs r WHERE ${["NOT r.deleted", ...and, ...more].join(" AND ")}
    ORDER BY r.id DESC LIMIT ${limit})`;
  // Each workflow has its own part, so that Postgres sees its name, and knows whether it has few runs or many.
  const parts = workflows?.map((name) => newest([`r.workflow = ${bind(put(name), "text")}`])) ?? [newest([])];
  const source = parts.length === 0 ? newest(["false"]) : parts.join(" UNION ALL ");
  return { text: `SELECT ${columns} FROM (${source}) AS r ORDER BY r.id DESC LIMIT ${limit}`, values };
}

function filters({ status, parent }: ListQuery, bind: (value: unknown, type: string) => string): string[] {
  const and: string[] = [];
  if (status === "blocked") and.push("r.blocked IS NOT NULL");
  else if (status !== undefined) and.push("r.blocked IS NULL", `r.status = ${bind(status, "text")}`);
  if (parent !== undefined) and.push(`r.parent = ${bind(put(parent), "text")}`);
  return and;
}
