/**
 * Lists of runs. Each workflow of a query is asked on its own, in the order of its index, and the replies are merged,
 * so that a list of some workflows costs nothing for the runs of others. Runs that have ended are asked by workflow and
 * status, in the order in which they ended; due runs by workflow and key of `fair` or version, in the order of due runs.
 */

import {
  endStatuses,
  mostMatches,
  pageSize,
  parentsOf,
  readCursor,
  versionsOf,
  workflowsOf,
} from "../../ports/storage-kit.ts";
import type { ListQuery } from "../../ports/storage.ts";
import { isDead } from "./process.ts";
import { listText, matchesText, timeOf, type TextQuery } from "./list-text.ts";
import type { Row, Statements, Value } from "./statements.ts";

/** The rows of a page, and one more if another page follows. */
export function listRows(
  sql: Statements,
  query: ListQuery,
  now: number,
  most = pageSize(query.limit) + 1,
): Row[] {
  const { workflow: _, parent: __, ...rest } = query;
  // A query for no workflow asks for nothing, and its cursor must be valid all the same.
  readCursor(query.cursor);
  const due = { now, dead: query.dueAt === undefined ? [] : deadDrivers(sql, workflowsOf(query)) };
  let found: Row[] = [];
  for (const part of partsOf(sql, query)) {
    const last = found.length < most ? undefined : found.at(-1);
    const { text, values } = listText({ ...rest, ...part }, due, last);
    found = merged(found, sql.list(text, [...values, most]), timeOf(query)).slice(0, most);
  }
  return found;
}

/** True when more than `mostMatches` runs have a text, so that a search does not find all of them first. */
export function isCommon(sql: Statements, q: string): boolean {
  const { text, values } = matchesText(q);
  const [row] = sql.list(`SELECT count(*) AS n FROM (${text} LIMIT ?)`, [...values, mostMatches + 1]);
  return Number(row?.["n"]) > mostMatches;
}

type Part = Pick<TextQuery, "workflow" | "status" | "parent" | "version" | "asleep" | "fair">;

/** The parts of a query that have an index to themselves. */
function partsOf(sql: Statements, query: ListQuery): Part[] {
  const parents = parentsOf(query)?.map((parent) => ({ parent })) ?? [{}];
  return parents.flatMap((parent) => partsOfWorkflows(sql, query).map((part) => ({ ...part, ...parent })));
}

function partsOfWorkflows(sql: Statements, query: ListQuery): Part[] {
  const workflows = workflowsOf(query);
  const time = timeOf(query);
  if (time === null || time === "waits_at") return workflows?.map((workflow) => ({ workflow })) ?? [{}];
  if (time === "due_order")
    return (workflows ?? namesFrom(sql.nextWorkflow)).flatMap((workflow) => duePartsOf(sql, workflow, query));
  const statuses = endStatuses.filter((status) => query.status === undefined || query.status === status);
  return statuses.flatMap((status) =>
    (workflows ?? endedWorkflowsOf(sql)).map((workflow) => ({ workflow, status })),
  );
}

/** The parts of a list of due runs: runs that wait for a time, and other runs by version or by key of `fair`. */
function duePartsOf({ firstFairKey, fairKey }: Statements, workflow: string, query: ListQuery): Part[] {
  const parts: Part[] = [{ workflow, asleep: true }];
  const versions = versionsOf(query);
  if (versions !== null) return [...parts, ...versions.map((version) => ({ workflow, version }))];
  for (
    let row = firstFairKey.get(workflow);
    row !== undefined;
    row = fairKey.get(workflow, row["fair"] ?? "")
  )
    parts.push({ workflow, fair: String(row["fair"]) });
  return parts;
}

/** All names, from one to the next. A name may be empty: a journal without a workflow has such a name, and is never due. */
function namesFrom(next: Statements["nextWorkflow"]): string[] {
  const names: string[] = [];
  for (let name: Value = ""; ;) {
    name = (next.get(name) as Row)["name"] ?? null;
    if (name === null) return names;
    names.push(String(name));
  }
}

/** The workflows of runs that have ended. */
export const endedWorkflowsOf = (sql: Statements): string[] => namesFrom(sql.nextEndedWorkflow);

/** Processes that have a run of these workflows, and are dead. */
export function deadDrivers(sql: Statements, workflows: readonly string[] | null): string[] {
  const found = (workflows ?? namesFrom(sql.nextWorkflow)).flatMap((workflow) => sql.driversOf.all(workflow));
  return [...new Set(found.map(({ process }) => String(process)))].filter(isDead);
}

function merged(a: readonly Row[], b: readonly Row[], time: string | null): Row[] {
  if (a.length === 0 || b.length === 0) return [...a, ...b];
  return [...a, ...b].toSorted((x, y) => (time === null ? by("id", y, x) : by(time, x, y) || by("id", x, y)));
}

function by(name: string, x: Row, y: Row): number {
  return Number(x[name]) - Number(y[name]);
}
