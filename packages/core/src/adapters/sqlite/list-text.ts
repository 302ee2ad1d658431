/**
 * The text of a list. Values are bound, never written into the text (H65).
 *
 * sqlite-finding.1. Tags and versions are written with the first batch, with one that begins a chapter, and with one whose
 *     tags are new. Any other append does not read them.
 * sqlite-finding.2. A search begins at the index that names its runs most narrowly: tags, then text, then parent, then
 *     times. Rows of `tags` are those of `runs.tags`, by triggers (schema.ts).
 */

import { readCursor, tagsOf, afterPrefix, versionsOf } from "../../ports/storage-kit.ts";
import type { ListQuery, AppendRequest } from "../../ports/storage.ts";
import { asleepRuns, dueRunsOf, dueRunsOfVersion, endedRuns, isAsleep, isDueRow } from "./due-statements.ts";
import type { Row, Value, Statements } from "./statements.ts";
import { tagsSum } from "./sums.ts";

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
  if (query.waiting !== undefined) and("waits_at IS NOT NULL");
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
export function timeOf({
  dueAt,
  endedBefore,
  waiting,
}: ListQuery): "due_order" | "ended_at" | "waits_at" | null {
  if (dueAt !== undefined) return "due_order";
  if (endedBefore !== undefined) return "ended_at";
  return waiting === undefined ? null : "waits_at";
}

function sourceOf(query: TextQuery, and: (text: string, ...values: Value[]) => void): string {
  const { status } = query;
  const time = timeOf(query);
  if (time === null)
    return foundIn(query, and) ?? (status === "blocked" ? "runs INDEXED BY runs_blocked" : "runs");
  for (const tag of tagsOf(query).slice(0, 1)) and(hasTag, ...tag);
  if (time === "ended_at") return endedRuns;
  if (time === "waits_at") return "runs INDEXED BY runs_asking";
  if (query.asleep === true) return asleepRuns;
  return typeof query.version === "string" ? dueRunsOfVersion : dueRunsOf;
}

/** Records the tags and the version of a head, after the row of the run was written. */
export function keepTags(sql: Statements, { head, position, newTags }: AppendRequest): void {
  const { locator, tags, version = null, chapter } = head;
  const begins = position === 0 || chapter === position;
  if (!begins && newTags !== true) return;
  const text = tags === undefined ? null : JSON.stringify(tags);
  const before = position === 0 ? null : (sql.taggedAs.get(locator) as Row | undefined);
  const [oldText = null, oldVersion = null] = [before?.["tags"], before?.["version"]];
  const sum = tagsSum(locator, text, version);
  if (text !== oldText) sql.setTags.run(text, version, sum, locator);
  else if (version !== oldVersion) sql.setVersion.run(version, sum, locator);
}

export const hasTag = "EXISTS (SELECT 1 FROM tags AS t WHERE t.name = ? AND t.value = ? AND t.run = runs.id)";

/** Adds a condition with its values to a search. */
type And = (text: string, ...values: Value[]) => void;

/** The conditions of the filters by tags, version, times and text. Rows of runs are those of `runs`. */
export function addFilters(query: ListQuery, and: And): void {
  const { createdAfter, createdBefore, q } = query;
  const [, ...more] = tagsOf(query);
  for (const tag of more) and(hasTag, ...tag);
  const versions = versionsOf(query);
  if (versions?.length === 1) and("version = ?", versions[0] ?? null);
  else if (versions !== null) and("version IN (SELECT value FROM json_each(?))", JSON.stringify(versions));
  if (createdAfter !== undefined) and("created_at >= ?", createdAfter);
  if (createdBefore !== undefined) and("created_at < ?", createdBefore);
  if (q === undefined) return;
  const { text, values } = matchesText(q);
  and(`runs.id IN (${text})`, ...values);
}

/** The numbers of all runs whose id, label or value of a tag begins with a text. */
export function matchesText(q: string): { readonly text: string; readonly values: readonly Value[] } {
  const range = [q, afterPrefix(q)];
  const text = `SELECT id FROM runs INDEXED BY runs_by_run_id WHERE run_id >= ? AND run_id < ?
       UNION ALL SELECT id FROM runs INDEXED BY runs_by_label WHERE label IS NOT NULL AND label >= ? AND label < ?
       UNION ALL SELECT run FROM tags INDEXED BY tags_by_value WHERE value >= ? AND value < ?`;
  return { text, values: [...range, ...range, ...range] };
}

/** The table that a search reads first, with its conditions. */
export function foundIn(
  query: ListQuery & { readonly workflow?: string | undefined },
  and: And,
): string | null {
  const [first] = tagsOf(query);
  if (first !== undefined) {
    and("first.name = ? AND first.value = ?", ...first);
    // A cross join keeps the order of the tables.
    return "tags AS first CROSS JOIN runs ON runs.id = first.run";
  }
  // The runs that begin with a text are known by their numbers.
  if (query.q !== undefined) return "runs NOT INDEXED";
  if (query.parent !== undefined || query.status === "blocked") return null;
  if (query.createdAfter !== undefined || query.createdBefore !== undefined)
    return "runs INDEXED BY runs_by_created";
  return null;
}
