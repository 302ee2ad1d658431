/**
 * What must hold between a run and its children.
 *
 * I4. What a parent has recorded of a child is how that child ended.
 * I8. No child is there that its parent does not know of; the end of one is recorded of a child that was opened.
 * I9. When a cancellation lands, no child of the run is alive.
 */

import { isExempt } from "./exemptions.ts";
import type { History } from "./history.ts";
import { isOpen, type AppliedBatch, type RunLog, type WrittenEntry } from "./run-log.ts";

/** At the moment a batch lands. */
export function judgeFamily(history: History, run: RunLog, batch: AppliedBatch): void {
  if (run.batches.length === 1 && run.childOf !== null) judgeNewChild(history, run, batch);
  for (const entry of batch.entries) {
    if (entry.kind === "child.opened") run.family = true;
    if (/^child\.(completed|failed|closed)$/.test(entry.kind)) judgeChildEnd(history, run, batch, entry);
    if (entry.kind === "run.cancelled") judgeCancelled(history, run);
  }
}

function judgeNewChild(history: History, run: RunLog, { entries }: AppliedBatch): void {
  const { runId, childOf } = run;
  const unborn = entries.at(-1)?.kind === "run.cancelled";
  if (unborn) return history.meet("a child that was cancelled before it began");
  if (run.above?.childOf) history.meet("a child of a child");
  // The parent may have been deleted, and its id used again, while this was under way.
  const parents = history.runs.filter((other) => other.runId === childOf?.runId);
  const known = parents.some(
    (parent) => parent.tainted || history.entries(parent).some((entry) => entry.child === runId),
  );
  if (!known && history.forgotten.size === 0)
    history.violate("I8", `run ${runId} begins, and no parent knows of it`);
}

function judgeChildEnd(history: History, run: RunLog, batch: AppliedBatch, entry: WrittenEntry): void {
  const { kind, key } = entry;
  const opened = history.entries(run).find((other) => other.kind === "child.opened" && other.key === key);
  if (opened === undefined && kind !== "child.closed")
    return history.violate("I8", `run ${run.runId}: ${kind} ${key} speaks of a child that was never opened`);
  if (kind === "child.closed") return;
  const over = /completed|failed|cancelled/.test(history.run(opened?.child ?? "")?.status ?? "");
  if (batch.outside) history.meet("a child that told its end");
  else history.meet(over ? "a child that was found ended" : "a child that told whoever drives its parent");
}

/** Children of a run that its journal holds for alive. */
function openChildren(history: History, run: RunLog): string[] {
  const open = new Map<string, string>();
  for (const { kind, key = "", child = "" } of history.entries(run)) {
    if (kind === "child.opened") open.set(key, child);
    else if (kind.startsWith("child.")) open.delete(key);
  }
  return [...open.values()];
}

function judgeCancelled(history: History, run: RunLog): void {
  for (const child of openChildren(history, run)) {
    const log = history.run(child);
    if (log === undefined ? history.forgotten.size > 0 : !isOpen(log) || log.tainted) continue;
    history.violate(
      "I9",
      `run ${run.runId} is cancelled, and its child ${child} ${log?.status ?? "may begin"}`,
    );
  }
  if (openChildren(history, run).length > 0) history.meet("a cancel of a run with children");
  if (run.childOf !== null && run.above !== undefined && isOpen(run.above))
    history.meet("a cancel of a child");
}

/** Once all is over. */
export function judgeChildren(history: History, run: RunLog): void {
  // Other code may give something else for the same records.
  if (history.codeChanges) return;
  const entries = history.entries(run);
  for (const { kind, key, value } of entries) {
    if (kind !== "child.completed" && kind !== "child.failed") continue;
    const id = entries.find((entry) => entry.kind === "child.opened" && entry.key === key)?.child;
    const lives = history.runs.filter(({ runId }) => runId === id);
    const [child] = lives;
    // What was deleted may have begun anew; what the storage lied about may end in any way.
    if (child === undefined || lives.length > 1 || child.tainted || child.deleted) continue;
    // It told its end, and died before it came to it, and its code went with its parent.
    if (isOpen(child) && isExempt(history, child)) continue;
    const end = history.entries(child).at(-1);
    // Two journals have no moment in common: a cancellation may come between what is told and the end.
    const cancelled = child.status === "cancelled" || isCancelled(entries, key);
    const same =
      kind === "child.completed"
        ? child.status === "completed" && JSON.stringify(end?.output) === JSON.stringify(value)
        : child.status === "failed";
    if (!same && !cancelled)
      history.violate(
        "I4",
        `run ${run.runId}: ${key} is recorded as ${kind} ${JSON.stringify(value)}, and child ${id} ${child.status} ${JSON.stringify(end?.output)}`,
      );
  }
}

/** True when the failure that is recorded under a key, or under any, is a cancellation or a deletion by somebody else. */
export function isCancelled(entries: readonly WrittenEntry[], key?: string): boolean {
  return entries.some(
    (entry) =>
      entry.kind === "child.failed" &&
      (key === undefined || entry.key === key) &&
      /"(cancelled|not-found)"/.test(JSON.stringify(entry.error)),
  );
}
