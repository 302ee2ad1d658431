/**
 * What generated code logs before each of its steps.
 *
 * I17. A line is written when the code comes to it for the first time. No worker writes it again once it has read that the step
 *      behind it has settled. Lines since the latest entry may be written once more after a crash, and by a start whose reply is late.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body, History } from "./history.ts";
import type { Process } from "./process.ts";
import { isRetried, type RunLog } from "./run-log.ts";
import { hasOneJournal } from "./start-checks.ts";

/** Forks and retried runs have the lines of an earlier history; changed code may come to a step on another way. */
function isJudged(history: History, run: RunLog): boolean {
  return (
    !history.isOfFork(run) && !isRetried(run) && !run.tainted && !history.codeChanges && !history.foreign
  );
}

/** Runs when code has made a call. If it was about to log, that was before this call. */
export function noteLine(process: Process, run: RunLog | undefined, key: string): void {
  const { history, comes, lastLine } = process;
  process.comes = false;
  process.lastLine = null;
  if (run === undefined || !comes) return;
  const name = nameOf(run, key);
  const isWritten = lastLine === run.runId;
  history.lines.set(name, isWritten || history.lines.get(name) === true);
  if (!isWritten) return;
  history.meet("a line in the log");
  if (hasOneJournal(process, run) && process.knows(run, key) && isJudged(history, run))
    history.violate("I17", `run ${run.runId}: ${process.name} logs once more what comes before ${key}`);
}

/** Runs when a body starts. */
export function judgeLine({ history }: Process, { run, key }: Body): void {
  if (run === undefined || history.lines.get(nameOf(run, key)) !== false || !isJudged(history, run)) return;
  history.violate("I17", `run ${run.runId}: ${key} starts, and what comes before it was never logged`);
}

function nameOf({ locator, chapter, batches }: RunLog, key: string): string {
  return `${locator} ${batches[0]?.by} ${chapter} ${key}`;
}
