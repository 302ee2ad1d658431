/**
 * Checks on the runs that workers take, and on those of a workflow that no worker has. Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import type { Process } from "./process.ts";
import type { RunLog } from "./run-log.ts";

export const strangeWorkflow = "elsewhere";

export function isStrange(run: RunLog | undefined): boolean {
  return run?.workflow === strangeWorkflow;
}

/** I12: a worker takes no run whose code it does not have. */
export function judgeTaken(history: History, process: Process, run: RunLog | undefined): void {
  if (isStrange(run) && process.name.startsWith("worker"))
    history.violate("I12", `${process.name} takes run ${run?.runId}, whose workflow it does not have`);
}

/** I12: a worker claims no more runs than it has places. */
export function judgeClaim(history: History, process: Process, limit: number, places: number): void {
  if (limit > places) history.violate("I12", `${process.name} claims ${limit} runs but has ${places} places`);
}
