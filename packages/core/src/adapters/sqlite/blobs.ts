/**
 * Batches and their blobs: storing those that an append names, and reading them back. A trigger deletes a blob with the
 * last run that names it (schema.ts).
 */

import type { DurableError } from "../../values/errors.ts";
import { refuseBlobs } from "../../ports/storage-kit.ts";
import type { NamedBlob } from "../../ports/storage.ts";
import type { Row, Statements } from "./statements.ts";
import { batchSum, blobSum } from "./sums.ts";

/** Why an append may not name these blobs; null when it may. */
export function refusalOf(
  { hasBlob }: Statements,
  runId: string,
  blobs: readonly NamedBlob[],
): DurableError | null {
  return refuseBlobs(runId, blobs, (name) => hasBlob.get(name) !== undefined);
}

/** The place of a batch in the file, and that of the first batch of its chapter. */
export interface BlobPlace {
  readonly locator: string;
  readonly position: number;
  readonly chapter: number;
}

/** Blobs that no earlier batch of the chapter has named. */
export interface NewNames {
  readonly names: readonly string[];
  /** True when an earlier chapter has named one of them. */
  readonly again: boolean;
}

/** Stores the bodies that are new, and records the names. */
export function nameBlobs(sql: Statements, place: BlobPlace, blobs: readonly NamedBlob[]): NewNames {
  const names: string[] = [];
  let again = false;
  for (const { name, body } of blobs) {
    // Checked first, so that a known body is neither checksummed nor written again.
    if (body !== undefined && sql.hasBlob.get(name) === undefined)
      sql.keepBlob.run(name, body, blobSum(name, body));
    const first = Number(sql.nameBlob.run(name, place.locator, place.position).changes) === 1;
    if (!first && !nameAgain(sql, place, name)) continue;
    names.push(name);
    again ||= !first;
  }
  return { names, again };
}

/** Records a name of an earlier chapter; false when this chapter has it. */
function nameAgain(sql: Statements, { locator, position, chapter }: BlobPlace, name: string): boolean {
  if (chapter === 0) return false;
  const inChapter = [name, locator, chapter] as const;
  if (sql.isNamed.get(...inChapter) !== undefined || sql.isNamedAgain.get(...inChapter) !== undefined)
    return false;
  sql.nameAgain.run(name, locator, position);
  return true;
}

/** Writes a batch with its checksum, in the column that fits the names and the run (schema.ts). */
export function insertBatch(
  { insert, insertNaming, insertNamingAgain }: Statements,
  { locator, position, dropped }: Omit<BlobPlace, "chapter"> & { readonly dropped: boolean },
  body: string,
  { names, again }: NewNames,
): void {
  const statement = again || dropped ? insertNamingAgain : names.length > 0 ? insertNaming : insert;
  statement.run(locator, position, body, batchSum(locator, position, body, names));
}

export function bodiesOf(rows: readonly Row[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, body }) => [String(name), String(body)]));
}
