/** Compares what the target of a copy has of a run with the source, and names what differs. */

import { DurableError } from "../values/errors.ts";
import type { ReadReply, RunHead } from "../ports/storage.ts";
import { filler, type SourceRun } from "./source.ts";

/** Throws when the target has another run under this id, or another batch at a position. */
export function assertPrefix(source: SourceRun, target: ReadReply): void {
  if (target.length === 0) return;
  if (target.deleted === true && !(source.deleted && target.length >= source.length))
    throw refusal(source, target, "it was deleted there");
  const { createdAt } = source.head;
  if (target.deleted !== true && target.head !== undefined && target.head.createdAt !== createdAt)
    throw refusal(source, target, "another run has this id there");
  const first = target.from ?? 0;
  for (const [i, text] of target.batches.entries()) {
    const position = first + i;
    if (position >= source.length) return;
    if (position >= source.first && text !== source.batchAt(position))
      throw refusal(source, target, `batch ${position} differs`, { position });
  }
}

/** Throws when the target does not return what the source has. `parts` are replies of the target. */
export function assertCopied(source: SourceRun, parts: readonly ReadReply[]): void {
  const last = parts.at(-1);
  if (last === undefined) return;
  const blobs = Object.assign({}, ...parts.map((part) => part.blobs)) as Record<string, string>;
  const lost = Object.entries(source.reply.blobs ?? {}).find(([name, body]) => !isSame(body, blobs[name]));
  if (lost !== undefined) throw unequal(source, `blob ${lost[0]}`);
  if (last.length < source.length) throw unequal(source, `batch ${last.length}`);
  for (const part of parts) {
    const first = part.from ?? part.length - part.batches.length;
    for (const [i, text] of part.batches.entries()) {
      const position = first + i;
      if (position >= source.first && position < source.length && text !== source.batchAt(position))
        throw unequal(source, `batch ${position}`);
    }
  }
  // A run that went on in the target has another head by now.
  const { head } = last;
  if (last.length === source.length && !source.deleted && head !== undefined)
    for (const name of namesOf(source.head, head))
      if (JSON.stringify(source.head[name]) !== JSON.stringify(head[name]))
        throw unequal(source, `${name} of its head`);
}

/**
 * Equal texts have equal names. An encrypted one has another text each time, and a target keeps the first that it gets
 * from any run, so only its length can be compared here; its seal is checked when it is read.
 */
function isSame(body: string, copied: string | undefined): boolean {
  const [length, other] = [body, copied].map((text) => sealedForm.exec(text ?? "")?.[1]?.length);
  return copied === body || (length !== undefined && length === other);
}

const sealedForm = /^\{"\$":"sealed","v":"\w+\.[^".]+\.([\w-]+)"\}$/;

function namesOf(...heads: readonly RunHead[]): (keyof RunHead)[] {
  return heads.flatMap((head) => Object.keys(head) as (keyof RunHead)[]);
}

/** True when the target has texts that stand for dropped batches, and still has to drop them. */
export function hasFillers({ batches, from = 0 }: ReadReply, before: number): boolean {
  return batches.slice(0, Math.max(0, before - from)).includes(filler);
}

/** The error of a run that the target has in another form. Nothing of it was changed. */
export function refusal(
  source: SourceRun,
  target: ReadReply,
  why: string,
  details: Readonly<Record<string, unknown>> = {},
): DurableError {
  return new DurableError(
    "conflict",
    `Run ${source.title} has ${source.length} batches in the source and ${target.length} in the target, and cannot be copied: ${why}. Delete the run in the target to copy it again, or keep the one that is there.`,
    { details: { deleted: false, ...details, source: source.length, target: target.length } },
  );
}

function unequal(source: SourceRun, what: string): DurableError {
  return new DurableError(
    "corrupt",
    `The target does not return what was copied of run ${source.title}: ${what} is missing or differs. Check the target storage, then copy again.`,
    { details: { source: source.length } },
  );
}
