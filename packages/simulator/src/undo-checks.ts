/**
 * Checks on runs that undo what they did, from their batches alone.
 *
 * I16. Work that has begun is undone after a failure and after a cancel, and never after a completion.
 *
 * - Nothing is undone before the entry that ends the code, and only what began before it.
 * - The latest is undone first, each once, and the end comes after the last.
 * - No work of the code starts after its compensation.
 * - A run with something to undo is not ended from outside, and a cancel does not replace a failure.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body, History } from "./history.ts";
import { isEnd, isSettlement, type AppliedBatch, type RunLog, type WrittenEntry } from "./run-log.ts";

const suffix = "/compensate";

export const endsCode = (kind: string): boolean => kind === "run.failing" || kind === "run.cancelling";

/** The entries before the code of a run ended. */
export function codeOf(entries: readonly WrittenEntry[]): readonly WrittenEntry[] {
  const end = entries.findIndex(({ kind }) => endsCode(kind));
  return end === -1 ? entries : entries.slice(0, end);
}

/** True for the key of a call in a clean-up of generated code. */
export function isOfCleanUp(key: string): boolean {
  return /(^|\/)tidy(#\d+)?\//.test(key);
}

/** Keys of steps that are undone when the run ends otherwise than completed, in the order of their start. */
export function begunSteps(entries: readonly WrittenEntry[]): string[] {
  const begun = new Map<string, number>();
  for (const { kind, key = "", attempt, compensate } of codeOf(entries)) {
    if (kind !== "step.started" || compensate !== true) continue;
    const count = (begun.get(key) ?? 0) + (attempt === 0 ? -1 : 1);
    if (count > 0) begun.set(key, count);
    else begun.delete(key);
  }
  return [...begun.keys()];
}

/** Runs when a batch is applied. */
export function judgeUndo(history: History, run: RunLog, batch: AppliedBatch): void {
  const entries = history.entries(run);
  const where = `run ${run.runId}`;
  const code = codeOf(entries);
  const over = code.length < entries.length;
  for (const entry of batch.entries) {
    const { kind, key = "" } = entry;
    if (endsCode(kind)) history.meet(`the code of a run ended: ${kind.slice("run.".length)}`);
    if (endsCode(kind) && entries.filter((other) => endsCode(other.kind)).length > 1)
      history.violate("I16", `${where}: ${kind}, but its code has ended before`);
    if (key.endsWith(suffix) && !over) history.violate("I16", `${where}: ${key} before the code has ended`);
    if (kind === "step.started" && over && code.every((other) => other !== entry) && entry.attempt !== 0)
      history.violate("I16", `${where}: ${key} is announced after the code has ended`);
    if (isEnd(kind)) judgeUndone(history, run, batch, entry);
  }
}

function judgeUndone(history: History, run: RunLog, batch: AppliedBatch, end: WrittenEntry): void {
  const entries = history.entries(run);
  const where = `run ${run.runId} is ${end.kind.slice("run.".length)}`;
  const begun = begunSteps(entries);
  const settled = entries.filter(({ kind, key = "" }) => isSettlement(kind) && key.endsWith(suffix));
  const undone = settled.map(({ key = "" }) => key.slice(0, -suffix.length));
  const ended = entries.find(({ kind }) => endsCode(kind));
  if (end.kind === "run.completed") {
    if (ended !== undefined) history.violate("I16", `${where} after ${ended.kind}`);
    return;
  }
  // Nothing shows which registrations a fork leaves out.
  const isCut = history
    .lineage(run)
    .some((log) => history.entries(log).some(({ cuts = [] }) => cuts.length > 0));
  const registered =
    !isCut &&
    codeOf(history.lineage(run).flatMap((log) => history.entries(log))).some(
      ({ kind }) => kind === "cleanup.opened",
    );
  // A run whose parent is deleted is ended by force.
  if (batch.outside) {
    if ((begun.length > 0 || registered) && !/was deleted/.test(String(end.reason)))
      history.violate("I16", `${where} from outside, with ${begun.join(", ") || "a clean-up"} to undo`);
    return;
  }
  if (ended === undefined) {
    if (begun.length > 0) history.violate("I16", `${where} without undoing ${begun.join(", ")}`);
    return;
  }
  const wanted = ended.kind === "run.failing" ? "run.failed" : "run.cancelled";
  if (end.kind !== wanted) history.violate("I16", `${where} after ${ended.kind}`);
  if (undone.join() !== begun.toReversed().join())
    history.violate("I16", `${where}: undid ${undone.join(", ")} of ${begun.join(", ")}`);
  const failed = settled.filter(({ kind }) => kind === "step.failed").length;
  if ((end.uncompensated?.length ?? 0) !== failed)
    history.violate(
      "I16",
      `${where}: ${failed} compensations failed, and it names ${end.uncompensated?.join(", ")}`,
    );
  if (undone.length > 1) history.meet("several steps undone");
  if (failed > 0) history.meet("a compensation that failed");
  const open = entries.filter(({ kind }) => kind === "cleanup.started").length;
  const closed = entries.filter(({ kind }) => /^cleanup\.(completed|failed)$/.test(kind)).length;
  if (open !== closed) history.violate("I16", `${where} with a clean-up that has not ended`);
}

/** Runs when a body starts. A driver that has lost its lease may not know yet what the next one did. */
export function judgeUndoneStart(history: History, { run, key, leased, process }: Body): void {
  if (run === undefined || run.tainted || !leased) return;
  const entries = history.entries(run);
  const undone = entries.some((entry) => entry.key === key + suffix && isSettlement(entry.kind));
  if (undone) history.violate("I16", `run ${run.runId}: ${process} starts ${key}, which was undone`);
}
