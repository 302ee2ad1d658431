/** What can be wrong between a journal and its storage. */

import { DurableError, describeError } from "../values/errors.ts";

function isTransient({ code }: DurableError): boolean {
  return code.startsWith("storage-") && code !== "storage-closed" && code !== "storage-readonly";
}

/** No use to ask again. A conflict is none of these: where the slot is free it may have met what is no longer there. */
export function isFinal(error: unknown): boolean {
  return DurableError.is(error) && error.code !== "conflict" && !isTransient(error);
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
