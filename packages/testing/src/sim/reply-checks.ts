/** I6: what somebody who answered was told, against the journal at that moment. */

import type { AnswerAttempt, History } from "./history.ts";
import type { WrittenEntry } from "./run-log.ts";

export interface Reply {
  readonly answer: AnswerAttempt;
  readonly status: string;
  readonly now: number;
  /** How far clocks may be off. */
  readonly slackMs: number;
}

export function judgeReply(history: History, { answer, status, now, slackMs }: Reply): void {
  const run = history.run(answer.runId);
  // What was deleted, or forgotten by the storage, cannot be looked up.
  if (run === undefined || run.deleted || history.lineage(run).some(({ tainted }) => tainted)) return;
  const { key } = answer;
  const lineage = history.lineage(run).flatMap((log) => history.entries(log));
  const opened = lineage.find((entry) => entry.kind === "suspend.opened" && entry.key === key);
  const ofWait = lineage.filter((entry) => entry.key === key || isAnswerTo(entry, lineage, key));
  const has = (pattern: RegExp): boolean => ofWait.some(({ kind }) => pattern.test(kind));
  const ended = /completed|failed|cancelled/.test(run.status);
  const late = (opened?.expiresAt ?? Number.POSITIVE_INFINITY) <= now + slackMs;
  const undeserved =
    (status === "accepted" && !has(/answered|resolved/)) ||
    (status === "duplicate" && !has(/answered|resolved/)) ||
    // A race around it may be decided and not yet written down.
    (status === "expired" && !ended && !late && !has(/expired|closed/) && !key.includes("["));
  if (undeserved)
    history.violate(
      "I6",
      `run ${run.runId}: an answer to ${key} was told ${status}, which the journal does not show`,
    );
}

/** Answers that came without code are known by the hash of their wait, which other entries tie to a key. */
function isAnswerTo({ kind, wait }: WrittenEntry, lineage: readonly WrittenEntry[], key: string): boolean {
  if (kind !== "suspend.answered") return false;
  const named = lineage.find((entry) => entry.wait === wait && entry.key !== undefined);
  // Before its wait is opened nothing says whose answer it is.
  return named === undefined || named.key === key;
}
