/** Why a journal without a workflow takes no record. */

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
    `Journal ${id} was ended: it takes no further records. Choose another id.`,
  );
}

export function overtaken(id: string, key: string): DurableError {
  return new DurableError(
    "conflict",
    `Another process records stream "${key}" of journal ${id} as well, and was first. Open the journal again to read it.`,
  );
}

export function owned(id: string, workflow: string): DurableError {
  return new DurableError(
    "workflow-mismatch",
    `Run ${id} belongs to workflow "${workflow}": it is written by that workflow alone. Choose another id.`,
  );
}
