/** Runs that nobody can bring to their end, and whose fault that is not. */

import type { History } from "./history.ts";
import { isOpen, type RunLog } from "./run-log.ts";

/**
 * The code that stays cannot go on with it, it kills whoever drives it, or the storage forgot a part of it; it waits
 * for a child of which that is so; or its code is known only to whoever drives a parent that nobody drives any more.
 */
export function isExempt(history: History, run: RunLog): boolean {
  if (isStuck(history, run)) return true;
  const { above } = run;
  const lonely = !history.known.has(run.workflow) && above !== undefined;
  return lonely && (!isOpen(above) || isExempt(history, above));
}

function isStuck(history: History, run: RunLog): boolean {
  if (run.tainted || history.blocked.has(run.runId)) return true;
  // Whoever drives a child for its parent tells nobody that other code has blocked it.
  if (!history.known.has(run.workflow) && history.codeChanges) return true;
  // A run that was deleted and begun anew has the children of the one before it.
  const below = history.runs.filter((child) => child.above?.runId === run.runId && isOpen(child));
  return below.some((child) => isStuck(history, child));
}
