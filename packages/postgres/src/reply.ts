/** The reply to a read, made from its rows. A missing row means damage, and never makes a short reply. */

import { DurableError } from "@durable/core";
import type { ReadReply } from "@durable/core/storage";
import { headOf, isDriven, noteOf, type WholeRow } from "./rows.ts";
import { take } from "./text.ts";

/** A row of `read`: first the run, then its batches in order, then the blobs that they name. */
export interface ReadRow {
  readonly kind: "run" | "batch" | "blob";
  readonly at_position: number | null;
  readonly name: string | null;
  readonly body: string | null;
}

/** `asked` is the position that the caller asked for; `null` is the beginning of the current chapter. */
export function replyOf(
  [first, ...rows]: readonly ReadRow[],
  locator: string,
  asked: number | null,
): ReadReply {
  if (first === undefined)
    return { batches: [], length: 0, deleted: false, ...(asked === null && { from: 0 }) };
  const run = JSON.parse(first.body ?? "") as WholeRow;
  const from = first.at_position ?? 0;
  const batches: string[] = [];
  const blobs: [string, string][] = [];
  for (const { kind, at_position: position, name, body } of rows) {
    if (body === null) throw damaged(locator, `its blob ${JSON.stringify(name)} is missing`);
    if (kind === "blob") blobs.push([take(name ?? ""), take(body)]);
    else if (position === from + batches.length) batches.push(take(body));
    else throw damaged(locator, `its batch ${from + batches.length} is missing`);
  }
  if (from + batches.length !== Math.max(run.length, from))
    throw damaged(locator, `it has ${from + batches.length} of ${run.length} batches`);
  return {
    batches,
    length: run.length,
    deleted: run.deleted,
    ...(from !== asked && { from }),
    ...(!run.deleted && { head: headOf(run) }),
    ...(run.blocked !== null && { blocked: noteOf(run.blocked) }),
    driven: isDriven({ ...run, driven: first.name === "true" }),
    ...(blobs.length > 0 && { blobs: Object.fromEntries(blobs) }),
  };
}

function damaged(locator: string, why: string): DurableError {
  return new DurableError(
    "corrupt",
    `The journal of run ${locator} is damaged: ${why}. Restore it from a backup.`,
  );
}
