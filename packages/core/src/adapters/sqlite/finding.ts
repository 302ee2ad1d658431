/**
 * Tags and versions in the tables, and the searches for them.
 *
 * sqlite-finding.1. Tags and versions are written with the first batch, with one that begins a chapter, and with one whose
 *     tags are new. Any other append does not read them.
 * sqlite-finding.2. A search begins at the index that names its runs most narrowly: tags, then text, then parent, then
 *     times. Rows of `tags` are those of `runs.tags`, by triggers (schema.ts).
 */

import { afterPrefix, tagsOf, versionsOf } from "../../ports/storage-kit.ts";
import type { AppendRequest, ListQuery } from "../../ports/storage.ts";
import type { Row, Statements, Value } from "./statements.ts";
import { tagsSum } from "./sums.ts";

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
  const range = [q, afterPrefix(q)];
  and(
    `runs.id IN (SELECT id FROM runs INDEXED BY runs_by_run_id WHERE run_id >= ? AND run_id < ?
       UNION ALL SELECT id FROM runs INDEXED BY runs_by_label WHERE label IS NOT NULL AND label >= ? AND label < ?
       UNION ALL SELECT run FROM tags INDEXED BY tags_by_value WHERE value >= ? AND value < ?)`,
    ...range,
    ...range,
    ...range,
  );
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
