/** Errors between a journal and its storage. */

import { DurableError, describeError } from "../values/errors.ts";

function isTransient({ code }: DurableError): boolean {
  return code.startsWith("storage-") && code !== "storage-closed" && code !== "storage-readonly";
}

/**
 * True when retrying cannot help. A conflict is not final: if the position is free, the batch that caused the conflict
 * no longer exists.
 */
export function isFinal(error: unknown): boolean {
  return DurableError.is(error) && error.code !== "conflict" && !isTransient(error);
}

/** The storage has repeated it up to its own deadline. */
export function isGivenUp(error: unknown): boolean {
  return DurableError.is(error) && error.details["gaveUp"] === true;
}

/** Nothing can be appended to the run: it was deleted, or another run has its singleton. */
export function isGone(error: unknown): boolean {
  return isDeleted(error) || (DurableError.is(error, "conflict") && "singleton" in error.details);
}

/** A run was deleted since it was read; its id may be used again. */
export function isDeleted(error: unknown): error is DurableError {
  return (
    (DurableError.is(error, "conflict") || DurableError.is(error, "journal-regressed")) &&
    error.details["deleted"] === true
  );
}

export function unsettled(runId: string, tries: number, cause: unknown): DurableError {
  if (DurableError.is(cause) && isTransient(cause)) return cause;
  return new DurableError(
    "storage-failed",
    `Could not append to run ${runId} after ${tries} attempts (${describeError(cause)}). Advance it again later.`,
    { cause },
  );
}

/** `deleted`: nothing is left of the run, or another one has its id. */
export function regressed(runId: string, position: number, deleted: boolean): DurableError {
  return new DurableError(
    "journal-regressed",
    `Run ${runId} had ${position} batches and now has fewer: the storage lost writes, or the run was deleted. Restore the newer journal, or fork the run.`,
    { details: { runId, deleted } },
  );
}

/** The storage has lost the last batches of a run, and the run exists. */
export function isRegression(error: unknown): boolean {
  return DurableError.is(error, "journal-regressed") && error.details["deleted"] === false;
}

export function misplaced(runId: string): DurableError {
  return new DurableError(
    "tampered",
    `The journal of run ${runId} is in the place of another run. Restore it from a backup.`,
  );
}

export function incomplete(run: string, found: number, expected: number): DurableError {
  return new DurableError(
    "storage-failed",
    `The storage returned ${found} of the ${expected} batches of run ${run}. Try again.`,
  );
}
