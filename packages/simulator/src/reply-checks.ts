/**
 * I6: the reply to an answer must agree with the journal at that moment. Proven by the planted bugs of `npm
 * run sim:mutants`.
 */

import type { History } from "./history.ts";
import type { AnswerAttempt } from "./notes.ts";
import { deadlineOf } from "./steer-checks.ts";
import { endsCode } from "./undo-checks.ts";
import { areOneStart, type RunLog, type WrittenEntry } from "./run-log.ts";

export interface Reply {
  readonly answer: AnswerAttempt;
  readonly status: string;
  readonly now: number;
  /** The largest difference between clocks. */
  readonly slackMs: number;
}

export function judgeReply(history: History, { answer, status, now, slackMs }: Reply): void {
  const { run } = answer;
  // A forgotten run cannot be checked.
  if (run === undefined || history.lineage(run).some(({ tainted }) => tainted)) return;
  if (run.deleted) return judgeGone(history, answer, run, status);
  if (run.continuedAt < answer.from) return judgeContinued(history, answer, run, status);
  const { key } = answer;
  const lineage = history.lineage(run).flatMap((log) => history.entries(log));
  const opened = lineage.find((entry) => entry.kind === "suspend.opened" && entry.key === key);
  const ofWait = lineage.filter((entry) => entry.key === key || isAnswerTo(entry, lineage, key));
  const has = (pattern: RegExp): boolean => ofWait.some(({ kind }) => pattern.test(kind));
  // A fork with another answer has it from its first entry on.
  if (lineage.some(({ edits = [] }) => edits.some((edit) => edit.key === key))) return;
  const ended = /completed|failed|cancelled|continued/.test(run.status) || history.entries(run).some(isOver);
  const until = Math.min(opened?.expiresAt ?? Number.POSITIVE_INFINITY, deadlineOf(history, run));
  const late = until <= now + slackMs;
  const undeserved =
    (status === "accepted" && !has(/answered|resolved/)) ||
    (status === "duplicate" && !has(/resolved/) && !ofWait.some(mayFit(history, answer, opened))) ||
    // A race around the wait may be decided but not yet recorded.
    (status === "expired" && !ended && !late && !has(/expired|closed/) && !key.includes("["));
  if (undeserved)
    history.violate(
      "I6",
      `run ${run.runId}: an answer to ${key} got the reply ${status}, which the journal does not show`,
    );
}

/** True for a recorded answer that may settle the wait: one that was valid when it was sent, or that needs no check. */
function mayFit(
  history: History,
  { run, key, how, value: own }: AnswerAttempt,
  opened: WrittenEntry | undefined,
): (entry: WrittenEntry) => boolean {
  // Before the wait is open, only the code knows whether it checks its answers.
  const isFree =
    opened === undefined ? how === "resume" : (opened.schema ?? null) === null && opened.checked !== true;
  const isKnown = run !== undefined && history.known.has(run.workflow);
  const sent = history.answers.filter((other) => other.run === run && other.key === key && other.valid);
  return ({ kind, value, rejects }) =>
    kind === "suspend.answered" &&
    (isFree ||
      rejects === true ||
      // The same value waits for its check, by code that a process which resumes may not have, or that does not fit the run.
      ((how === "record" || !isKnown || history.codeChanges) && isOne(own, value)) ||
      sent.some((other) => isOne(other.value, value)));
}

function isOne(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The code of the run is over, so it takes no answer. */
function isOver({ kind }: WrittenEntry): boolean {
  return endsCode(kind);
}

/** No run takes an answer to a run that was deleted before, whether or not its id is used again. */
function judgeGone(history: History, { key, from }: AnswerAttempt, run: RunLog, status: string): void {
  if (run.deletedAt >= from) return;
  history.meet("an answer to a run that is gone");
  const next = history.run(run.runId);
  if (next !== undefined && (next.tainted || (next !== run && areOneStart(run, next)))) return;
  if (status !== "unknown" && !hasItsMark(history, run, next))
    history.violate("I6", `run ${run.runId} was deleted, but an answer to ${key} got the reply ${status}`);
}

/** No chapter takes an answer to an earlier one. */
function judgeContinued(history: History, { key }: AnswerAttempt, run: RunLog, status: string): void {
  history.meet("an answer to an earlier chapter");
  if (status !== "unknown" && !hasItsMark(history, run, history.run(run.runId)))
    history.violate(
      "I6",
      `run ${run.runId}: an answer to ${key} of chapter ${run.chapter}, which is over, got the reply ${status}`,
    );
}

/** Waits of a run or chapter begin with two characters that rarely are those of another: then an answer looks early. */
function hasItsMark({ waits }: History, run: RunLog, next: RunLog | undefined): boolean {
  const marksOf = (log: RunLog | undefined): string[] =>
    [...waits].flatMap(([name, wait]) => (wait.run === log ? [name.slice(-10, -8)] : []));
  const marks = new Set(marksOf(run));
  return next !== run && marksOf(next).some((mark) => marks.has(mark));
}

/**
 * An answer that was delivered without the code is recorded under the hash of its wait, which other entries
 * map to a key.
 */
function isAnswerTo({ kind, wait }: WrittenEntry, lineage: readonly WrittenEntry[], key: string): boolean {
  if (kind !== "suspend.answered") return false;
  const named = lineage.find((entry) => entry.wait === wait && entry.key !== undefined);
  // Before its wait is opened, no entry says which key it answers.
  return named === undefined || named.key === key;
}
