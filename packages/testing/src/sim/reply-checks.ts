/**
 * I6: the reply to an answer must agree with the journal at that moment. Proven by the planted bugs of `npm
 * run sim:mutants`.
 */

import type { AnswerAttempt, History } from "./history.ts";
import type { WrittenEntry } from "./run-log.ts";

export interface Reply {
  readonly answer: AnswerAttempt;
  readonly status: string;
  readonly now: number;
  /** The largest difference between clocks. */
  readonly slackMs: number;
}

export function judgeReply(history: History, { answer, status, now, slackMs }: Reply): void {
  const run = history.run(answer.runId);
  // A deleted or forgotten run cannot be checked.
  if (run === undefined || run.deleted || history.lineage(run).some(({ tainted }) => tainted)) return;
  const { key } = answer;
  const lineage = history.lineage(run).flatMap((log) => history.entries(log));
  const opened = lineage.find((entry) => entry.kind === "suspend.opened" && entry.key === key);
  const ofWait = lineage.filter((entry) => entry.key === key || isAnswerTo(entry, lineage, key));
  const has = (pattern: RegExp): boolean => ofWait.some(({ kind }) => pattern.test(kind));
  // A fork with another answer has it from its first entry on.
  if (lineage.some(({ edits = [] }) => edits.some((edit) => edit.key === key))) return;
  const ended = /completed|failed|cancelled/.test(run.status);
  const late = (opened?.expiresAt ?? Number.POSITIVE_INFINITY) <= now + slackMs;
  const undeserved =
    (status === "accepted" && !has(/answered|resolved/)) ||
    (status === "duplicate" && !has(/answered|resolved/)) ||
    // A race around the wait may be decided but not yet recorded.
    (status === "expired" && !ended && !late && !has(/expired|closed/) && !key.includes("["));
  if (undeserved)
    history.violate(
      "I6",
      `run ${run.runId}: an answer to ${key} got the reply ${status}, which the journal does not show`,
    );
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
