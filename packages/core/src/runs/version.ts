/** Drivers that are kept to some versions of the code. */

import type { RunJournal } from "../journal/journal.ts";
import { DurableError, show } from "../values/errors.ts";

export function otherVersion({ runId, first }: RunJournal, versions: readonly string[]): DurableError {
  const { version } = first;
  return new DurableError(
    "other-version",
    `Run ${runId} has version ${show(version)}, and is left to a driver of that version. This one drives: ${versions.join(", ")}.`,
    { details: { version } },
  );
}
