/**
 * Runs that no process can bring to their end, through no fault of the engine. Proven by the planted bugs of
 * `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import { isStrange } from "./stranger-checks.ts";
import { isOpen, type RunLog } from "./run-log.ts";

/**
 * A run is exempt when the deployed code does not fit it, when it kills its drivers, when the storage forgot
 * one of its batches, or when it waits for a child that is exempt. A child whose workflow no app has is also
 * exempt once its parent has no driver.
 */
export function isExempt(history: History, run: RunLog): boolean {
  if (isStrange(run) || isStuck(history, run)) return true;
  const { above } = run;
  const lonely = !history.known.has(run.workflow) && above !== undefined;
  return lonely && (!isOpen(above) || isExempt(history, above));
}

function isStuck(history: History, run: RunLog): boolean {
  // Without a batch that the storage forgot, a journal, and so every fork of it, may be unreadable.
  if (history.blocked.has(run.runId) || history.lineage(run).some(({ tainted }) => tainted)) return true;
  // A child cannot report its end to such a journal.
  if (run.above?.tainted === true) return true;
  // The driver of a parent does not report that a child is blocked.
  const mayBeBlocked = history.codeChanges || history.foreign || history.strayed.has(run.runId);
  if (!history.known.has(run.workflow) && mayBeBlocked) return true;
  const below = history.runs.filter((child) => child.above === run && isOpen(child));
  return below.some((child) => isStuck(history, child));
}
