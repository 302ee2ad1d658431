/** Runs that were started too often without progress. */

import type { DriverLease } from "../engine/lease.ts";
import type { AdvanceOptions } from "../engine/stop.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Outcome } from "../journal/outcome.ts";
import { DurableError } from "../values/errors.ts";
import type { Host } from "./host.ts";

interface Started {
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  readonly starts: number;
  readonly length: number;
}

/** Gives the lease of a run back that was started too often without progress. */
export async function poisoned(
  host: Host,
  { journal, lease, starts, length }: Started,
  runId: string,
  { alone = true, hooks }: AdvanceOptions,
): Promise<Outcome<unknown>> {
  const error = new DurableError(
    "poison",
    `Run ${runId} was started ${starts - 1} times without progress, so it may kill its driver. Check the step after its last entry; then advance it again.`,
    { details: { starts: starts - 1 } },
  );
  const since = alone ? await lease.note(error, length) : 0;
  await lease.giveBack();
  if (alone) void host.observing(hooks).then((observe) => observe?.(journal).blocked(error, runId));
  return { runId, recorded: false, status: "blocked", error, since, waiting: [] };
}
