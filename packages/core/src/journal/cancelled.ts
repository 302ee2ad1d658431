/** The error of a run that was cancelled. */

import { defined } from "../values/defined.ts";
import { DurableError } from "../values/errors.ts";
import type { Leftovers } from "./entry.ts";
import { notUndone, type CancelReason } from "./outcome.ts";

export function cancelledError(
  runId: string,
  { reason, uncompensated }: CancelReason & Pick<Leftovers, "uncompensated">,
): DurableError {
  const why = reason === undefined ? "" : `: ${reason}`;
  const end = notUndone(uncompensated) || (reason === undefined ? "." : "");
  return new DurableError("cancelled", `Run ${runId} was cancelled${why}${end}`, {
    details: defined({ reason, uncompensated }),
  });
}
