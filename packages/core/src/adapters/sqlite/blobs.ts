/**
 * Batches and their blobs: storing those that an append names, and reading them back. A trigger deletes a blob with the
 * last run that names it (schema.ts).
 */

import type { DurableError } from "../../values/errors.ts";
import { refuseBlobs } from "../../ports/storage-kit.ts";
import type { NamedBlob } from "../../ports/storage.ts";
import type { Row, Statements } from "./statements.ts";
import { blobSum } from "./sums.ts";

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

/** Stores the bodies that are new, and records the names. Returns those that no earlier batch of the chapter has. */
export function nameBlobs(sql: Statements, place: BlobPlace, blobs: readonly NamedBlob[]): string[] {
  const { locator, position, chapter } = place;
  return blobs.flatMap(({ name, body }) => {
    // Checked first, so that a known body is neither checksummed nor written again.
    if (body !== undefined && sql.hasBlob.get(name) === undefined)
      sql.keepBlob.run(name, body, blobSum(name, body));
    return Number(sql.nameBlob.run(name, locator, position, chapter).changes) === 1 ? [name] : [];
  });
}

export function bodiesOf(rows: readonly Row[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, body }) => [String(name), String(body)]));
}
