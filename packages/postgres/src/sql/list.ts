/** The text of a list. Values are bound, never written into the text (H65). */

import {
  afterPrefix,
  endStatuses,
  parentsOf,
  readCursor,
  tagsOf,
  versionsOf,
  workflowsOf,
} from "@durable/core/storage";
import type { ListQuery } from "@durable/core";
import { put } from "../text.ts";
import { clock } from "./clock.ts";
import { placeOf } from "./tables.ts";
import { allWorkflows, columns as claimed, dueRuns, endedWorkflows } from "./due.ts";

/** A claim has neither reports nor marks. `driven` says whether the lease of a run lasts. */
const columnsAt = (now: string): string =>
  `${claimed}, r.report, r.marks, r.waits_at, r.process, (r.lease_until > ${now}) AS driven`;

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
  const limit = bind(most, "int");
  const now = clock(bind(due.now, "float8"));
  const columns = columnsAt(now);
  if (query.endedBefore !== undefined && query.dueAt === undefined)
    return { text: endedText({ schema, query, bind, limit, columns }), values };
  const and = filters(schema, query, bind);
  const workflows = workflowsOf(query);
  if (query.waiting !== undefined && query.dueAt === undefined) {
    const [time, id] = cursor ?? [];
    if (time !== undefined && id !== undefined)
      and.push(`(r.waits_at, r.id) > (${bind(time, "float8")}, ${bind(id, "bigint")})`);
    if (workflows !== null) and.push(`r.workflow = ANY (${bind(workflows.map(put), "text[]")})`);
    const text = `SELECT ${columns} FROM ${schema}.runs r WHERE ${["NOT r.deleted", ...and].join(" AND ")}
    ORDER BY r.waits_at, r.id LIMIT ${limit}`;
    return { text, values };
  }
  if (query.dueAt !== undefined) {
    const [order, id] = cursor ?? [];
    if (order !== undefined && id !== undefined)
      and.push(`(r.due_order, r.id) > (${bind(order, "float8")}, ${bind(id, "bigint")})`);
    const rows = dueRuns(schema, {
      columns: "r.*",
      workflow: "w.name",
      dueAt: bind(query.dueAt, "float8"),
      now,
      dead: bind(due.dead.map(put), "text[]"),
      most: limit,
      and: and.map((one) => `AND ${one}`).join(" "),
    });
    const source =
      workflows === null ? `(${allWorkflows(schema)})` : `unnest(${bind(workflows.map(put), "text[]")})`;
    const text = `SELECT ${columns} FROM ${source} AS w (name) CROSS JOIN LATERAL (
    ${rows}
  ) AS r ORDER BY r.due_order, r.id LIMIT ${limit}`;
    return { text, values };
  }
  if (cursor?.[1] !== undefined) and.push(`r.id < ${bind(cursor[1], "bigint")}`);
  if (inParts(query)) return { text: partsText({ schema, query, bind, limit, columns, and }), values };
  const { from, order } = sourceOf(schema, query, bind);
  const newest = (more: readonly string[]): string =>
    `(SELECT r.* FROM ${from} WHERE ${["NOT r.deleted", ...and, ...more].join(" AND ")}
    ORDER BY ${order} DESC LIMIT ${limit})`;
  const parents = parentsOf(query) ?? [];
  if (parents.length > 1) {
    const where = ["NOT r.deleted", "r.parent = p.name", ...and].join(" AND ");
    const among = workflows === null ? "" : ` AND r.workflow = ANY (${bind(workflows.map(put), "text[]")})`;
    const text = `SELECT ${columns} FROM unnest(${bind(parents.map(put), "text[]")}) AS p (name) CROSS JOIN LATERAL (
    SELECT r.* FROM ${from} WHERE ${where}${among} ORDER BY ${order} DESC LIMIT ${limit}
  ) AS r ORDER BY r.id DESC LIMIT ${limit}`;
    return { text, values };
  }
  // Each workflow has its own part, so that Postgres sees its name, and knows whether it has few runs or many.
  const parts = workflows?.map((name) => newest([`r.workflow = ${bind(put(name), "text")}`])) ?? [newest([])];
  const source = parts.length === 0 ? newest(["false"]) : parts.join(" UNION ALL ");
  return { text: `SELECT ${columns} FROM (${source}) AS r ORDER BY r.id DESC LIMIT ${limit}`, values };
}

/** True for a list that the parts of `runs_by_workflow` give, each in its order. */
function inParts(query: ListQuery): boolean {
  const { workflow, status, q, parent } = query;
  if ((workflow === undefined && status === undefined) || status === "blocked") return false;
  if (q !== undefined || parent !== undefined || versionsOf(query) !== null) return false;
  return tagsOf(query).length === 0;
}

const openStatuses = ["running", "suspended", "paused"];

function partsText({
  schema,
  query,
  bind,
  limit,
  columns,
  and,
}: ListParts & { readonly and: readonly string[] }): string {
  const workflows = workflowsOf(query);
  const statuses = query.status === undefined ? [...openStatuses, ...endStatuses] : [query.status];
  const names =
    workflows === null ? `(${allWorkflows(schema)})` : `unnest(${bind(workflows.map(put), "text[]")})`;
  const where = ["NOT r.deleted", "r.workflow = w.name", "r.status = s.name", ...and].join(" AND ");
  return `SELECT ${columns} FROM ${names} AS w (name) CROSS JOIN unnest(${bind(statuses, "text[]")}) AS s (name)
    CROSS JOIN LATERAL (SELECT r.* FROM ${schema}.runs r WHERE ${where} ORDER BY r.id DESC LIMIT ${limit}) AS r
    ORDER BY r.id DESC LIMIT ${limit}`;
}

/** One value is compared by itself, which Postgres plans better. */
function isOneOf(parents: readonly string[], bind: Bind): string {
  const [only] = parents;
  if (parents.length === 1 && only !== undefined) return `r.parent = ${bind(put(only), "text")}`;
  return `r.parent = ANY (${bind(parents.map(put), "text[]")})`;
}

type Bind = (value: unknown, type: string) => string;

interface ListParts {
  readonly schema: string;
  readonly query: ListQuery;
  readonly bind: Bind;
  readonly limit: string;
  readonly columns: string;
}

/** Each workflow and status has its runs in the order in which they ended. */
function endedText(parts: ListParts): string {
  const { schema, query, bind, limit, columns } = parts;
  const { status: asked, ...rest } = query;
  const workflows = workflowsOf(query);
  const statuses = endStatuses.filter((status) => asked === undefined || asked === status);
  const where = ["NOT r.deleted", "r.workflow = w.name", "r.status = s.name", "r.ended_at IS NOT NULL"];
  where.push(...filters(schema, rest, bind));
  const [at, id] = readCursor(query.cursor) ?? [];
  if (at !== undefined && id !== undefined)
    where.push(`(r.ended_at, r.id) > (${bind(at, "float8")}, ${bind(id, "bigint")})`);
  const names =
    workflows === null ? `(${endedWorkflows(schema)})` : `unnest(${bind(workflows.map(put), "text[]")})`;
  return `SELECT ${columns} FROM ${names} AS w (name) CROSS JOIN unnest(${bind(statuses, "text[]")}) AS s (name)
    CROSS JOIN LATERAL (SELECT r.* FROM ${schema}.runs r WHERE ${where.join(" AND ")}
      ORDER BY r.ended_at, r.id LIMIT ${limit}) AS r ORDER BY r.ended_at, r.id LIMIT ${limit}`;
}

const hasTag = (schema: string, [name, value]: readonly [string, string], bind: Bind): string =>
  `EXISTS (SELECT FROM ${schema}.tags t WHERE t.name = ${bind(put(name), "text")} AND t.value = ${bind(put(value), "text")} AND t.run = r.id)`;

/**
 * Where a search begins, and its order. Runs of a tag are read in the order of the list, and so are runs of a time, because
 * their numbers have it. Runs of a text are found first and then sorted. Read in the order of their numbers, all runs would be
 * read until enough of them fit.
 */
function sourceOf(
  schema: string,
  query: ListQuery,
  bind: Bind,
): { readonly from: string; readonly order: string } {
  const [first] = tagsOf(query);
  if (first !== undefined) {
    const [name, value] = first.map((text) => bind(put(text), "text"));
    const from = `${schema}.tags f JOIN ${schema}.runs r ON r.id = f.run AND f.name = ${name} AND f.value = ${value}`;
    return { from, order: "f.run" };
  }
  return { from: `${schema}.runs r`, order: query.q === undefined ? "r.id" : "r.id + 0" };
}

/** How much later than its time a run may have its place: with a million others of the same millisecond. */
export const latestPlaceMs = 500;

function filters(schema: string, query: ListQuery, bind: Bind): string[] {
  const { status, parent, createdAfter, createdBefore, endedBefore, q } = query;
  const and: string[] = [];
  // The first tag is where a list begins, unless it is a list by time.
  const isByTime = [query.dueAt, endedBefore, query.waiting].some((one) => one !== undefined);
  for (const tag of tagsOf(query).slice(isByTime ? 0 : 1)) and.push(hasTag(schema, tag, bind));
  const versions = versionsOf(query);
  if (versions !== null) and.push(`r.version = ANY (${bind(versions.map(put), "text[]")})`);
  for (const [sign, time, slackMs] of [
    [">=", createdAfter, 0],
    ["<", createdBefore, latestPlaceMs],
  ] as const)
    if (time !== undefined) {
      const at = bind(time, "float8");
      and.push(`r.created_at ${sign} ${at}`, `r.id ${sign} ${placeOf(`${at} + ${slackMs}`)}`);
    }
  if (q !== undefined) and.push(`r.id = ANY (ARRAY(${matches(schema, q, bind)}))`);
  if (query.waiting !== undefined) and.push("r.waits_at IS NOT NULL");
  if (status === "blocked") and.push("r.blocked IS NOT NULL");
  else if (status !== undefined) and.push("r.blocked IS NULL", `r.status = ${bind(status, "text")}`);
  if (parent !== undefined) and.push(isOneOf([parent].flat(), bind));
  if (endedBefore !== undefined) and.push("r.blocked IS NULL", `r.ended_at < ${bind(endedBefore, "float8")}`);
  return and;
}

/** The numbers of all runs whose id, label or value of a tag begins with a text; each part ends at `limit`. */
function matches(schema: string, q: string, bind: Bind, limit = ""): string {
  const [from, to] = [put(q), afterPrefix(put(q))].map((text) => bind(text, "text"));
  const within = (column: string): string => `${column} >= ${from} AND ${column} < ${to}`;
  return `(SELECT b.id FROM ${schema}.runs b WHERE NOT b.deleted AND ${within("b.run_id")}${limit})
      UNION ALL (SELECT b.id FROM ${schema}.runs b WHERE NOT b.deleted AND b.label IS NOT NULL AND ${within("b.label")}${limit})
      UNION ALL (SELECT t.run FROM ${schema}.tags t WHERE ${within("t.value")}${limit})`;
}

/** How many runs have a text, counted up to `most`. */
export function matchesText(schema: string, q: string, most: number): ListText {
  const values: unknown[] = [];
  const bind = (value: unknown, type: string): string => `$${values.push(value)}::${type}`;
  const limit = ` LIMIT ${bind(most, "int")}`;
  const text = `SELECT count(*) AS n FROM (SELECT 1 FROM (${matches(schema, q, bind, limit)}) AS m${limit}) AS m`;
  return { text, values };
}
