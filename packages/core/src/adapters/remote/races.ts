/** Writers of one log compete for its next slot: how often one may lose. */

import { DurableError } from "../../values/errors.ts";

/** How many write races a call may lose before it fails. */
export const mostTries = 50;

export function lostRaces(run: string): DurableError {
  return new DurableError(
    "storage-busy",
    `Lost ${mostTries} write races on the log of run ${run}. Try again later.`,
  );
}
