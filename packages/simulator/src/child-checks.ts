/**
 * Checks on a run and its children.
 *
 * I4. The end of a child that its parent recorded is the end the child has.
 * I8. A child exists only if its parent knows of it, and an end is recorded only for a child that was opened.
 * I9. When a cancellation is applied, no child of the run is open.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import { isExempt } from "./exemptions.ts";
import type { History } from "./history.ts";
import { endsCode } from "./undo-checks.ts";
import { areOneStart, isOpen, type AppliedBatch, type RunLog, type WrittenEntry } from "./run-log.ts";

/** Runs when a batch is applied. */
export function judgeFamily(history: History, run: RunLog, batch: AppliedBatch): void {
  if (run.batches.length === 1 && run.chapter === 1 && run.childOf !== null)
    judgeNewChild(history, run, batch);
  for (const entry of batch.entries) {
    if (entry.kind === "child.opened") judgeOpened(history, run, entry);
    if (/^child\.(completed|failed|closed)$/.test(entry.kind)) judgeChildEnd(history, run, batch, entry);
    if (entry.kind === "run.cancelled") judgeCancelled(history, run);
  }
}

function judgeOpened(history: History, run: RunLog, { child }: WrittenEntry): void {
  run.family = true;
  const lives = history.runs.filter(
    (other) => other !== run && other.runId === run.runId && !other.tainted && !areOneStart(other, run),
  );
  if (lives.some((other) => history.entries(other).some((entry) => entry.child === child)))
    history.violate(
      "I8",
      `run ${run.runId} has the child ${child} of an earlier run of its id, or of an earlier chapter`,
    );
}

function judgeNewChild(history: History, run: RunLog, { entries }: AppliedBatch): void {
  const { runId, childOf } = run;
  const unborn = entries.at(-1)?.kind === "run.cancelled";
  if (unborn) return history.meet("a child that was cancelled before it began");
  if (run.above?.childOf) history.meet("a child of a child");
  // The parent may have been deleted, and its id used again, while this request was on its way.
  const parents = history.runs.filter((other) => other.runId === childOf?.runId);
  const known = parents.some(
    (parent) => parent.tainted || history.entries(parent).some((entry) => entry.child === runId),
  );
  if (!known && history.forgotten.size === 0)
    history.violate("I8", `run ${runId} begins, but no parent knows of it`);
}

function judgeChildEnd(history: History, run: RunLog, batch: AppliedBatch, entry: WrittenEntry): void {
  const { kind, key } = entry;
  const opened = history.entries(run).find((other) => other.kind === "child.opened" && other.key === key);
  if (opened === undefined && kind !== "child.closed")
    return history.violate("I8", `run ${run.runId}: ${kind} ${key} names a child that was never opened`);
  if (kind === "child.closed") return;
  const over = /completed|failed|cancelled/.test(history.run(opened?.child ?? "")?.status ?? "");
  if (batch.outside) history.meet("a child that reported its end");
  else history.meet(over ? "a child found ended" : "a child that reported to its parent's driver");
}

/** Children of a run that are open according to its journal. */
export function openChildren(history: History, run: RunLog): string[] {
  const open = new Map<string, string>();
  for (const { kind, key = "", child = "" } of history.entries(run)) {
    if (kind === "child.opened") open.set(key, child);
    else if (kind.startsWith("child.")) open.delete(key);
  }
  return [...open.values()];
}

/** True when the code of a child is over, also while it still cleans up or is undone. */
export function isOver(history: History, child: string): boolean {
  const log = history.run(child);
  if (log === undefined) return history.forgotten.size > 0;
  return !isOpen(log) || log.tainted || history.entries(log).some(({ kind }) => endsCode(kind));
}

function judgeCancelled(history: History, run: RunLog): void {
  for (const child of openChildren(history, run)) {
    if (isOver(history, child)) continue;
    const status = history.run(child)?.status ?? "may begin";
    history.violate("I9", `run ${run.runId} is cancelled, but its child ${child} ${status}`);
  }
  if (openChildren(history, run).length > 0) history.meet("a cancel of a run with children");
  if (run.childOf !== null && run.above !== undefined && isOpen(run.above))
    history.meet("a cancel of a child");
}

/** Runs after the end of the simulation. */
export function judgeChildren(history: History, run: RunLog): void {
  // Changed code may return something else for the same records, and so may names that strands behind foreign awaits share.
  if (history.codeChanges || history.foreign) return;
  const entries = history.entries(run);
  for (const { kind, key, value } of entries) {
    if (kind !== "child.completed" && kind !== "child.failed") continue;
    const id = entries.find((entry) => entry.kind === "child.opened" && entry.key === key)?.child;
    const lives = history.runs.filter(({ runId, chapter }) => runId === id && chapter === 1);
    const child = history.run(id ?? "");
    // A deleted child may have started again, and one whose batch the storage forgot may end in any way.
    if (child === undefined || lives.length > 1 || child.tainted || child.deleted) continue;
    // The child reported its end and died before it recorded it, and only its parent's driver has its code.
    if (isOpen(child) && isExempt(history, child)) continue;
    const end = history.entries(child).at(-1);
    // Two journals are not written atomically: a cancellation may come between the report and the end.
    const cancelled = child.status === "cancelled" || isCancelled(entries, key);
    const same =
      kind === "child.completed"
        ? child.status === "completed" && JSON.stringify(end?.output) === JSON.stringify(value)
        : child.status === "failed";
    if (!same && !cancelled)
      history.violate(
        "I4",
        `run ${run.runId}: ${key} is recorded as ${kind} ${JSON.stringify(value)}, but child ${id} is ${child.status} with ${JSON.stringify(end?.output)}`,
      );
  }
}

/**
 * True when a failure recorded under this key, or under any key, is a cancellation or a deletion by another
 * caller.
 */
export function isCancelled(entries: readonly WrittenEntry[], key?: string): boolean {
  return entries.some(
    (entry) =>
      entry.kind === "child.failed" &&
      (key === undefined || entry.key === key) &&
      /"(cancelled|not-found)"/.test(JSON.stringify(entry.error)),
  );
}
