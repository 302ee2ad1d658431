/**
 * Lists of runs. Each workflow of a query is asked on its own, in the order of its index, and the replies are merged,
 * so that a list of some workflows costs nothing for the runs of others. Runs that have ended are asked by workflow and
 * status, in the order in which they ended.
 */

import type { DueRuns } from "../../ports/due-watch.ts";
import {
  endStatuses,
  pageSize,
  parentsOf,
  readCursor,
  versionsOf,
  workflowsOf,
} from "../../ports/storage-kit.ts";
import type { ListQuery } from "../../ports/storage.ts";
import { isDead } from "./process.ts";
import { listText, timeOf, type TextQuery } from "./list-text.ts";
import type { Row, Statements, Value } from "./statements.ts";

/** The rows of a page, and one more if another page follows. */
export function listRows(sql: Statements, query: ListQuery, now: number): Row[] {
  const { workflow: _, parent: __, ...rest } = query;
  // A query for no workflow asks for nothing, and its cursor must be valid all the same.
  readCursor(query.cursor);
  const due = { now, dead: query.dueAt === undefined ? [] : deadDrivers(sql, query, query.dueAt, now) };
  const most = pageSize(query.limit) + 1;
  let found: Row[] = [];
  for (const part of partsOf(sql, query)) {
    const last = found.length < most ? undefined : found.at(-1);
    const { text, values } = listText({ ...rest, ...part }, due, last);
    found = merged(found, sql.list(text, [...values, most]), timeOf(query)).slice(0, most);
  }
  return found;
}

type Part = Pick<TextQuery, "workflow" | "status" | "parent" | "version">;

/** The parts of a query that have an index to themselves. */
function partsOf(sql: Statements, query: ListQuery): Part[] {
  const parents = parentsOf(query)?.map((parent) => ({ parent })) ?? [{}];
  return parents.flatMap((parent) => partsOfWorkflows(sql, query).map((part) => ({ ...part, ...parent })));
}

function partsOfWorkflows(sql: Statements, query: ListQuery): Part[] {
  const workflows = workflowsOf(query);
  const time = timeOf(query);
  // Due runs of some versions are listed version by version, each in the order of its index.
  const versions = time === "wake_at" ? (versionsOf(query)?.map((version) => ({ version })) ?? [{}]) : [{}];
  if (time !== "ended_at")
    return (workflows?.map((workflow) => ({ workflow })) ?? [{}]).flatMap((part) =>
      versions.map((version) => ({ ...part, ...version })),
    );
  const statuses = endStatuses.filter((status) => query.status === undefined || query.status === status);
  return statuses.flatMap((status) =>
    (workflows ?? endedWorkflows(sql)).map((workflow) => ({ workflow, status })),
  );
}

/** The workflows that have a run which has ended. */
function endedWorkflows({ nextEndedWorkflow }: Statements): string[] {
  const names: string[] = [];
  for (let name: Value = ""; ;) {
    // A name may be empty: a journal without a workflow has such a name, and its run never ends.
    name = (nextEndedWorkflow.get(name) as Row)["name"] ?? null;
    if (name === null) return names;
    names.push(String(name));
  }
}

/** True when one of these runs is due, and its driver did not die. Costs the same however many runs wait. */
export function isAnyWaiting(sql: Statements, { workflow, version }: DueRuns, now: number): boolean {
  const due = { now, dead: [] };
  return workflow.some((name) =>
    (versionsOf({ version }) ?? [undefined]).some((one) => {
      const { text, values } = listText({ workflow: name, version: one, dueAt: now }, due);
      return sql.list(text, [...values, 1]).length > 0;
    }),
  );
}

/** The due runs of each workflow, those that are due longest first: at most `most` of each. */
export function dueRowsOf(
  sql: Statements,
  { workflow, version }: DueRuns,
  { dueAt, now, most }: { readonly dueAt: number; readonly now: number; readonly most: number },
): Row[][] {
  const workflows = [...new Set(workflow)];
  const due = { now, dead: deadDrivers(sql, { workflow: workflows }, dueAt, now) };
  return workflows.map((name) => {
    let found: Row[] = [];
    for (const one of versionsOf({ version }) ?? [undefined]) {
      const { text, values } = listText({ workflow: name, version: one, dueAt }, due);
      found = merged(found, sql.list(text, [...values, most]), "wake_at").slice(0, most);
    }
    return found;
  });
}

/** Processes that have a lease on a due run, and are dead. */
export function deadDrivers(
  { drivers, driversOf }: Statements,
  query: ListQuery,
  dueAt: number,
  now: number,
): string[] {
  const found =
    workflowsOf(query)?.flatMap((workflow) => driversOf.all(workflow, dueAt, now)) ?? drivers.all(dueAt, now);
  return [...new Set(found.map(({ process }) => String(process)))].filter(isDead);
}

function merged(a: readonly Row[], b: readonly Row[], time: string | null): Row[] {
  if (a.length === 0 || b.length === 0) return [...a, ...b];
  return [...a, ...b].toSorted((x, y) => (time === null ? by("id", y, x) : by(time, x, y) || by("id", x, y)));
}

function by(name: string, x: Row, y: Row): number {
  return Number(x[name]) - Number(y[name]);
}
