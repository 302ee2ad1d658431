/**
 * Blobs in their table: storing those that an append names, and reading them back. A trigger deletes a blob with the
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

/** Stores the bodies that are new; returns the names that no earlier batch of the chapter has. */
export function nameBlobs(
  { hasBlob, keepBlob, nameBlob, isNamed, isNamedAgain, nameAgain }: Statements,
  { locator, position, chapter }: BlobPlace,
  blobs: readonly NamedBlob[],
): string[] {
  return blobs
    .filter(({ name, body }) => {
      // Checked first, so that a known body is neither checksummed nor written again.
      if (body !== undefined && hasBlob.get(name) === undefined)
        keepBlob.run(name, body, blobSum(name, body));
      if (Number(nameBlob.run(name, locator, position).changes) === 1) return true;
      if (chapter === 0) return false;
      const inChapter = [name, locator, chapter] as const;
      if (isNamed.get(...inChapter) !== undefined || isNamedAgain.get(...inChapter) !== undefined)
        return false;
      nameAgain.run(name, locator, position);
      return true;
    })
    .map(({ name }) => name);
}

export function bodiesOf(rows: readonly Row[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, body }) => [String(name), String(body)]));
}
