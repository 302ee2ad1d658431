/**
 * Checks on runs with several chapters. A chapter has a log of its own, so that all other checks hold for
 * each of them.
 *
 * I6. A chapter takes no answer to a wait of an earlier one.
 * I8. A chapter begins with one entry in a batch of its own, which counts on, and after its children.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import { isOver, openChildren } from "./child-checks.ts";
import type { History } from "./history.ts";
import { areOneRun, driverOf, type AppliedBatch, type RunLog } from "./run-log.ts";

/** Runs when a batch is applied. */
export function judgeBorder(history: History, run: RunLog, batch: AppliedBatch): void {
  const { earlier, chapter, locator } = run;
  const where = `run ${run.runId}, chapter ${chapter}`;
  for (const { kind, wait = "" } of earlier === undefined ? [] : batch.entries) {
    const of = kind === "suspend.answered" ? history.waits.get(locator + wait)?.run : undefined;
    if (of !== undefined && of !== run && areOneRun(of, run))
      history.violate("I6", `${where} has an answer to a wait of chapter ${of.chapter}`);
  }
  const at = batch.entries.findIndex(({ kind }) => kind === "run.continued");
  if (at === -1) return;
  const { base, chapter: number } = batch.entries[at] ?? {};
  if (earlier === undefined || run.batches.length !== 1 || batch.entries.length !== 1)
    return history.violate("I8", `${where} begins in the middle of batch ${run.offset + run.batches.length}`);
  const before = (history.entries(earlier)[0]?.base ?? 0) + history.entries(earlier).length;
  if (number !== chapter || base !== before)
    history.violate("I8", `${where} begins as chapter ${number} after ${base} entries, of ${before}`);
  const open = openChildren(history, earlier).find((child) => !isOver(history, child));
  // Changed code may no longer call the child: nothing waits for it, and it ends by itself.
  if (open !== undefined && !history.codeChanges)
    history.violate("I8", `${where} begins although child ${open} has not ended`);
  noteBorder(history, run, earlier);
}

function noteBorder(history: History, run: RunLog, earlier: RunLog): void {
  if (run.childOf !== null) history.meet("a chapter of a child");
  if (run.parent !== null) history.meet("a chapter of a fork");
  if (run.chapter > 2) history.meet("a third chapter");
  if ((run.batches[0]?.entries[0]?.abandoned?.length ?? 0) > 0)
    history.meet("a chapter with work left behind");
  const last = earlier.batches.findLast(({ outside }) => !outside);
  if (last !== undefined && run.batches[0] !== undefined && driverOf(last) !== driverOf(run.batches[0]))
    history.meet("a border that another driver reached");
}
