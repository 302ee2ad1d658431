/**
 * Blobs in their table: what an append names, and what a read gives back. They go with the run that was
 * the last to name them, by a trigger (schema.ts).
 */

import type { DurableError } from "../../values/errors.ts";
import { refuseBlobs } from "../../ports/storage-kit.ts";
import type { AppendRequest, NamedBlob } from "../../ports/storage.ts";
import type { Row, Statements } from "./statements.ts";
import { blobSum } from "./sums.ts";

/** Why these cannot be named; null when they can. */
export function refusalOf(
  { hasBlob }: Statements,
  runId: string,
  blobs: readonly NamedBlob[],
): DurableError | null {
  return refuseBlobs(runId, blobs, (name) => hasBlob.get(name) !== undefined);
}

/** Keeps the bodies that are new; returns the names that this run had not named before. */
export function nameBlobs(
  { hasBlob, keepBlob, nameBlob }: Statements,
  { locator, position }: AppendRequest,
  blobs: readonly NamedBlob[],
): string[] {
  return blobs
    .filter(({ name, body }) => {
      // Asked first: a body that is known is neither summed nor written again.
      if (body !== undefined && hasBlob.get(name) === undefined)
        keepBlob.run(name, body, blobSum(name, body));
      return Number(nameBlob.run(name, locator, position).changes) === 1;
    })
    .map(({ name }) => name);
}

export function bodiesOf(rows: readonly Row[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, body }) => [String(name), String(body)]));
}
