/**
 * Checks on deadlines, pauses and retries, on every batch that the storage applies.
 *
 * I20. While a run is paused, no driver parks it, ends it or begins a chapter. A cancel ends the pause.
 * I21. A run fails by its deadline only after that time, and only the deadline that it has.
 * I22. A retry follows a failure of the run, and takes back calls that had failed.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import type { AppliedBatch, RunLog, WrittenEntry } from "./run-log.ts";

const stops = new Set(["run.suspended", "run.completed", "run.failed", "run.continued"]);

export function judgeSteered(
  history: History,
  { run, batch }: { readonly run: RunLog; readonly batch: AppliedBatch },
  slackMs: number,
): void {
  const before = run.batches.slice(0, -1).flatMap(({ entries }) => entries);
  const where = `run ${run.runId}, batch ${run.batches.length}`;
  const last = before.findLast(({ kind }) => /^run\.(paused|unpaused|cancelling)$/.test(kind));
  if (last?.kind === "run.paused")
    for (const { kind } of batch.entries)
      if (stops.has(kind)) history.violate("I20", `${where} has ${kind} while the run is paused`);
  for (const entry of batch.entries) {
    if (entry.kind === "run.failed") judgeDeadline(history, run, { ...entry, at: batch.at }, slackMs);
    if (entry.kind === "run.retried") judgeRetry(history, { run, before, where }, entry);
    if (entry.kind === "run.retried") history.meet("a retry");
    if (entry.kind === "run.paused") history.meet("a paused run");
  }
}

function judgeDeadline(history: History, run: RunLog, end: WrittenEntry, slackMs: number): void {
  if (!isByDeadline(history, run, end)) return;
  history.meet("a run that missed its deadline");
  const early = deadlineOf(history, run) - end.at;
  if (early > slackMs) history.violate("I21", `run ${run.runId} failed ${early} ms before its deadline`);
}

/** When a run fails; never for one without a deadline. */
export function deadlineOf(history: History, run: RunLog): number {
  const last = history.entries(run).findLast((entry) => entry.deadline !== undefined);
  return last?.deadline ?? Number.POSITIVE_INFINITY;
}

/** True when this failure of a run is due to its own deadline. That of a child has the deadline of the child. */
export function isByDeadline(history: History, run: RunLog, { error }: WrittenEntry): boolean {
  const [, text] = / did not end by its deadline, ([\dT:.Z-]+)\. /.exec(JSON.stringify(error ?? null)) ?? [];
  return text !== undefined && Date.parse(text) === deadlineOf(history, run);
}

function judgeRetry(
  history: History,
  { run, before, where }: { readonly run: RunLog; readonly before: readonly WrittenEntry[]; where: string },
  { failed = [] }: WrittenEntry,
): void {
  const end = before.at(-1);
  // The end of the run above has cancelled it, and that run goes on.
  const isUnneeded = end?.kind === "run.cancelled" && end.unneeded !== undefined;
  if (end?.kind !== "run.failed" && !isUnneeded)
    history.violate("I22", `${where} retries a run that had not failed`);
  // A fork may have inherited the failure.
  if (history.isOfFork(run)) return;
  for (const taken of failed) {
    const failure = before.some(
      ({ kind, key }) => key === taken && /\.(failed|expired)$/.test(kind) && kind !== "attempt.failed",
    );
    const missed = before.some(({ kind, key }) => kind === "sleep.fired" && key === `${taken}[]/deadline`);
    if (!failure && !missed) history.violate("I22", `${where} takes back ${taken}, which had not failed`);
  }
}

/** The keys that have settled, without those that a retry took back. */
export function settledBefore(
  entries: readonly WrittenEntry[],
  isSettlement: (kind: string) => boolean,
): Set<string | undefined> {
  const settled = new Set<string | undefined>();
  for (const { kind, key, failed = [] } of entries) {
    if (isSettlement(kind)) settled.add(key);
    if (kind !== "run.retried") continue;
    for (const one of settled) if (isTakenBack(one, failed)) settled.delete(one);
  }
  return settled;
}

/** True for what a retry takes back with the calls that failed: their own records, questions about them, and their deadlines. */
export function isTakenBack(key: string | undefined, failed: readonly string[]): boolean {
  return failed.some((one) => key === one || key?.startsWith(`${one}/`) || key?.startsWith(`${one}[]/`));
}
