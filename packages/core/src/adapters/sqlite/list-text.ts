/** The text of a list. Values are bound, never written into the text (H65). */

import { readCursor, tagsOf } from "../../ports/storage-kit.ts";
import type { ListQuery } from "../../ports/storage.ts";
import { addFilters, foundIn, hasTag } from "./finding.ts";
import { asleepRuns, dueRunsOf, dueRunsOfVersion, endedRuns, isAsleep, isDueRow } from "./due-statements.ts";
import type { Row, Value } from "./statements.ts";

export interface DueNow {
  readonly now: number;
  /** Dead processes, whose leases no longer count. */
  readonly dead: readonly string[];
}

/**
 * A query for at most one workflow and one parent. Of due runs it is for one workflow, and for those that are asleep, or of
 * one key of `fair`, or of one version.
 */
export type TextQuery = ListQuery & {
  readonly workflow?: string | undefined;
  readonly parent?: string | undefined;
  readonly asleep?: true;
  readonly fair?: string;
};

/** `last` is the last row that may still be on the page. */
export function listText(query: TextQuery, due: DueNow, last?: Row): { text: string; values: Value[] } {
  const { workflow, status, parent, dueAt, endedBefore } = query;
  const where = ["runs.deleted = 0"];
  const values: Value[] = [];
  const and = (text: string, ...more: Value[]): void => {
    where.push(text);
    values.push(...more);
  };
  const [at, id] = readCursor(query.cursor) ?? [];
  const time = timeOf(query);
  if (workflow !== undefined) and("workflow = ?", workflow);
  if (status === "blocked") and("blocked IS NOT NULL");
  else if (status !== undefined) and("status = ? AND blocked IS NULL", status);
  if (parent !== undefined) and("parent = ?", parent);
  const source = sourceOf(query, and);
  addFilters(query, and);
  const number = source.startsWith("tags") ? "first.run" : "runs.id";
  if (time === null) {
    if (id !== undefined) and(`${number} < ?`, id);
    if (last !== undefined) and(`${number} > ?`, Number(last["id"]));
  } else {
    if (at !== undefined && id !== undefined) and(`(${time}, runs.id) > (?, ?)`, at, id);
    if (last !== undefined) and(`(${time}, runs.id) < (?, ?)`, Number(last[time]), Number(last["id"]));
  }
  if (endedBefore !== undefined) and("ended_at < ? AND blocked IS NULL", endedBefore);
  if (dueAt !== undefined) {
    and(query.asleep === true ? isAsleep : isDueRow);
    if (query.fair !== undefined) and("fair = ?", query.fair);
    and("wake_at <= ?", dueAt);
    // A driver that died may have claimed the run before: its quiet time ends with it, like its lease.
    and(
      `(quiet_until <= ? AND (lease_until IS NULL OR lease_until <= ?) OR process IN (SELECT value FROM json_each(?)))`,
    );
    values.push(due.now, due.now, JSON.stringify(due.dead));
  }
  const order = time === null ? `${number} DESC` : `${time}, runs.id`;
  const text = `SELECT runs.* FROM ${source} WHERE ${where.join(" AND ")} ORDER BY ${order} LIMIT ?`;
  return { text, values };
}

/** The column of the time by which a list is sorted; `null` for one that begins with the newest run. */
export function timeOf({ dueAt, endedBefore }: ListQuery): "due_order" | "ended_at" | null {
  if (dueAt !== undefined) return "due_order";
  return endedBefore === undefined ? null : "ended_at";
}

function sourceOf(query: TextQuery, and: (text: string, ...values: Value[]) => void): string {
  const { status } = query;
  const time = timeOf(query);
  if (time === null)
    return foundIn(query, and) ?? (status === "blocked" ? "runs INDEXED BY runs_blocked" : "runs");
  for (const tag of tagsOf(query).slice(0, 1)) and(hasTag, ...tag);
  if (time === "ended_at") return endedRuns;
  if (query.asleep === true) return asleepRuns;
  return typeof query.version === "string" ? dueRunsOfVersion : dueRunsOf;
}
