/**
 * Lists of runs. Each workflow of a query is asked on its own, in the order of its index, and the replies are merged,
 * so that a list of some workflows costs nothing for the runs of others.
 */

import type { DueRuns } from "../../ports/due-watch.ts";
import { pageSize, readCursor, versionsOf, workflowsOf } from "../../ports/storage-kit.ts";
import type { ListQuery } from "../../ports/storage.ts";
import { isDead } from "./process.ts";
import { listText, type Row, type Statements } from "./statements.ts";

/** The rows of a page, and one more if another page follows. */
export function listRows(sql: Statements, query: ListQuery, now: number): Row[] {
  const { workflow: _, version, ...others } = query;
  const versions = query.dueAt === undefined ? null : versionsOf(query);
  // Due runs of some versions are listed version by version, each in the order of its index.
  const rest = versions === null ? { ...others, version } : others;
  // A query for no workflow asks for nothing, and its cursor must be valid all the same.
  readCursor(query.cursor);
  const due = { now, dead: query.dueAt === undefined ? [] : deadDrivers(sql, query, query.dueAt, now) };
  const most = pageSize(query.limit) + 1;
  const workflows = workflowsOf(query);
  const parts = (workflows ?? [undefined]).flatMap((workflow) =>
    versions === null
      ? [{ ...rest, workflow }]
      : versions.map((one) => ({ ...rest, workflow, version: one })),
  );
  let found: Row[] = [];
  for (const part of parts) {
    const last = found.length < most ? undefined : found.at(-1);
    const { text, values } = listText(part, due, last);
    found = merged(found, sql.list(text, [...values, most]), query.dueAt !== undefined).slice(0, most);
  }
  return found;
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
      found = merged(found, sql.list(text, [...values, most]), true).slice(0, most);
    }
    return found;
  });
}

/** Processes that have a lease on a due run, and are dead. */
function deadDrivers(
  { drivers, driversOf }: Statements,
  query: ListQuery,
  dueAt: number,
  now: number,
): string[] {
  const found =
    workflowsOf(query)?.flatMap((workflow) => driversOf.all(workflow, dueAt, now)) ?? drivers.all(dueAt, now);
  return [...new Set(found.map(({ process }) => String(process)))].filter(isDead);
}

function merged(a: readonly Row[], b: readonly Row[], due: boolean): Row[] {
  if (b.length === 0) return [...a];
  const [id, wakeAt] = ["id", "wake_at"].map(
    (name) =>
      (row: Row): number =>
        Number(row[name]),
  ) as [Order, Order];
  return [...a, ...b].toSorted((x, y) => (due ? wakeAt(x) - wakeAt(y) || id(x) - id(y) : id(y) - id(x)));
}

type Order = (row: Row) => number;
