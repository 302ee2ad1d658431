/** What storages share: page sizes, cursors, and the errors that every storage answers with. */

import { DurableError, show } from "../values/errors.ts";
import { limits } from "../values/limits.ts";
import type { NamedBlob } from "./storage.ts";

export function pageSize(limit = 100): number {
  return Math.max(0, Math.min(Math.floor(limit) || 0, limits.listPage));
}

/** Where a page ended, `wakeAt:id`, in storages that number their runs in the order of creation. */
export function readCursor(cursor: string | undefined): readonly number[] | null {
  const parts = cursor?.split(":").map(Number) ?? null;
  if (parts === null || (parts.length === 2 && parts.every(Number.isFinite))) return parts;
  throw new DurableError(
    "invalid-options",
    `${show(cursor)} is not a cursor. Pass the \`next\` of the page before.`,
  );
}

/** The error of an append that came too late: the journal has moved, or the run was deleted. */
export function conflict(runId: string, position: number, deleted = false): DurableError {
  const why = deleted
    ? `Run ${runId}, or one it reads, was deleted. Choose another id.`
    : `The journal of run ${runId} has not ${position} batches any more.`;
  return new DurableError("conflict", why, { details: { deleted } });
}

/** Why a storage that `has` some blobs cannot take an append that names these; null when it can. */
export function refuseBlobs(
  runId: string,
  blobs: readonly NamedBlob[],
  has: (name: string) => boolean,
): DurableError | null {
  const comes = (name: string): boolean =>
    blobs.some((blob) => blob.name === name && blob.body !== undefined) || has(name);
  const refusal = (name: string, why: string): DurableError =>
    new DurableError("storage-failed", `Blob ${show(name)} of run ${runId} ${why}.`, {
      details: { blob: name },
    });
  for (const { name, body } of blobs) {
    // UTF-8 has no halves of pairs: a disk would keep another content under the name.
    if (!name.isWellFormed() || body?.isWellFormed() === false)
      return refusal(name, "has half of a surrogate pair. Encode such text before it is named");
    if (body === undefined && !comes(name))
      return refusal(
        name,
        "came without its body, which this storage does not have. Append it with the body",
      );
  }
  return null;
}
