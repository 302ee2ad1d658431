/** The text of a list. Values are bound, never written into the text (H65). */

import { readCursor, tagsOf } from "../../ports/storage-kit.ts";
import type { ListQuery } from "../../ports/storage.ts";
import { addFilters, foundIn, hasTag } from "./finding.ts";
import { dueRuns, dueRunsOf, dueRunsOfVersion } from "./indexes.ts";
import type { Row, Value } from "./statements.ts";

export interface DueNow {
  readonly now: number;
  /** Dead processes, whose leases no longer count. */
  readonly dead: readonly string[];
}

/** A query for at most one workflow, and of due runs for at most one version. */
export type TextQuery = ListQuery & { readonly workflow?: string | undefined };

/** `last` is the last row that may still be on the page. */
export function listText(query: TextQuery, due: DueNow, last?: Row): { text: string; values: Value[] } {
  const { workflow, status, parent, dueAt } = query;
  const where = ["runs.deleted = 0"];
  const values: Value[] = [];
  const and = (text: string, ...more: Value[]): void => {
    where.push(text);
    values.push(...more);
  };
  const [wakeAt, id] = readCursor(query.cursor) ?? [];
  if (workflow !== undefined) and("workflow = ?", workflow);
  if (status === "blocked") and("blocked IS NOT NULL");
  else if (status !== undefined) and("status = ? AND blocked IS NULL", status);
  if (parent !== undefined) and("parent = ?", parent);
  const source = sourceOf(query, and);
  addFilters(query, and);
  if (dueAt === undefined) {
    const order = source.startsWith("tags") ? "first.run" : "runs.id";
    if (id !== undefined) and(`${order} < ?`, id);
    if (last !== undefined) and(`${order} > ?`, Number(last["id"]));
  } else {
    and("wake_at <= ?", dueAt);
    // A driver that died may have claimed the run before: its quiet time ends with it, like its lease.
    and(
      `(quiet_until <= ? AND (lease_until IS NULL OR lease_until <= ?) OR process IN (SELECT value FROM json_each(?)))`,
    );
    values.push(due.now, due.now, JSON.stringify(due.dead));
    if (wakeAt !== undefined && id !== undefined) and("(wake_at, runs.id) > (?, ?)", wakeAt, id);
    if (last !== undefined) and("(wake_at, runs.id) < (?, ?)", Number(last["wake_at"]), Number(last["id"]));
  }
  const newest = source.startsWith("tags") ? "first.run DESC" : "runs.id DESC";
  const order = dueAt === undefined ? newest : "wake_at, runs.id";
  const text = `SELECT runs.* FROM ${source} WHERE ${where.join(" AND ")} ORDER BY ${order} LIMIT ?`;
  return { text, values };
}

function sourceOf(query: TextQuery, and: (text: string, ...values: Value[]) => void): string {
  const { workflow, status, dueAt } = query;
  if (dueAt === undefined)
    return foundIn(query, and) ?? (status === "blocked" ? "runs INDEXED BY runs_blocked" : "runs");
  for (const tag of tagsOf(query).slice(0, 1)) and(hasTag, ...tag);
  if (workflow === undefined) return dueRuns;
  return typeof query.version === "string" ? dueRunsOfVersion : dueRunsOf;
}
