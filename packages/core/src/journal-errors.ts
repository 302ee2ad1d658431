/** What can be wrong between a journal and its storage. */

import { DurableError, describeError } from "./errors.ts";

export function isTransient(error: DurableError): boolean {
  return error.code.startsWith("storage-") && error.code !== "storage-closed";
}

export function unsettled(runId: string, tries: number, cause: unknown): DurableError {
  if (DurableError.is(cause) && isTransient(cause)) return cause;
  return new DurableError(
    "storage-failed",
    `The storage took no batch of run ${runId} in ${tries} tries (${describeError(cause)}). Advance it again later.`,
    { cause },
  );
}

export function regressed(runId: string, position: number): DurableError {
  return new DurableError(
    "journal-regressed",
    `The journal of run ${runId} had ${position} batches and now has fewer: acknowledged writes were lost. Restore the newer journal, or fork the run.`,
  );
}

export function incomplete(run: string, found: number, expected: number): DurableError {
  return new DurableError(
    "storage-failed",
    `The storage gave ${found} of the ${expected} batches of run ${run}. Try again.`,
  );
}
