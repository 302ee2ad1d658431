/** Errors of a journal without a workflow. */

import { DurableError } from "../values/errors.ts";

export function otherwise(id: string, key: string, how: string): DurableError {
  return new DurableError(
    "diverged",
    `"${key}" of journal ${id} is recorded ${how}. Use another key, or put the input into the key.`,
    { details: { key } },
  );
}

export function ended(id: string): DurableError {
  return new DurableError(
    "conflict",
    `Journal ${id} has ended and accepts no more records. Choose another id.`,
  );
}

export function overtaken(id: string, key: string): DurableError {
  return new DurableError(
    "conflict",
    `Another process also records stream "${key}" of journal ${id}, and wrote first. Open the journal again to read its stream.`,
  );
}

export function owned(id: string, workflow: string): DurableError {
  return new DurableError(
    "workflow-mismatch",
    `Run ${id} belongs to workflow "${workflow}", and only that workflow may write to it. Choose another id.`,
  );
}
