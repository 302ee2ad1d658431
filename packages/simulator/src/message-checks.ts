/**
 * Checks on messages when a batch is applied, with code of their own.
 *
 * I6. A message is recorded once under its id. A verdict names a message of its topic that no other verdict has named, and
 *     the earliest of those. It is the first settlement of its batch, so that no receive takes a message after its branch
 *     was lost. No receive expires while a message for it is unread. The next chapter begins with what was not read.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import {
  chaptersOf,
  isSettlement,
  placed,
  type AppliedBatch,
  type RunLog,
  type WrittenEntry,
} from "./run-log.ts";
import { isTakenBack } from "./steer-checks.ts";

interface Unread {
  readonly seq: number;
  readonly topic: string;
  readonly id: string;
}

/** The receives of a log, by wait: their topic. */
function topicsOf(entries: readonly WrittenEntry[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { kind, wait = "", topic } of entries)
    if (kind === "suspend.opened" && topic !== undefined) found.set(wait, topic);
  return found;
}

/** True for a verdict on a message, and not on an answer. */
function isOnMessage(history: History, run: RunLog, answer: number): boolean {
  if (answer < 0) return true;
  // The run itself first: what an ancestor wrote at the same position after the fork is not part of it.
  const lineage = history.lineage(run).flatMap(placed);
  return lineage.find(({ seq }) => seq === answer)?.entry.kind === "message.sent";
}

/** True when this wait took a message, or waited for one. */
export function isReceive(history: History, run: RunLog, { wait, answer, topic }: WrittenEntry): boolean {
  if (topic !== undefined || (answer !== undefined && isOnMessage(history, run, answer))) return true;
  return wait !== undefined && topicsOf(history.entries(run)).has(wait);
}

/** Runs when a batch is applied. */
export function judgeMessages(history: History, run: RunLog, batch: AppliedBatch): void {
  if (!batch.entries.some(concernsMessages)) return;
  const where = `run ${run.runId}, chapter ${run.chapter}`;
  const entries = placed(run);
  const first = entries.length - batch.entries.length;
  judgeIds(history, run, batch, where);
  judgePlace(history, run, batch, where);
  // A fork also has the unread messages of its ancestors, and so have all its chapters.
  const isFork = history.lineage(run).length > 1;
  const unread = new Map<number, Unread>();
  const read = new Set<number>();
  const topicOf = topicsOf(entries.map(({ entry }) => entry));
  for (const [index, { entry, seq }] of entries.entries()) {
    const isNew = index >= first;
    if (entry.kind === "run.continued") carriedBy(entry).forEach((one) => unread.set(one.seq, one));
    if (entry.kind === "message.sent") unread.set(seq, { seq, topic: entry.topic ?? "", id: entry.id ?? "" });
    if (entry.kind === "suspend.expired" && isNew && !isFork) {
      const topic = topicOf.get(entry.wait ?? "");
      if (topic !== undefined && [...unread.values()].some((one) => one.topic === topic))
        history.violate("I6", `${where}: ${entry.key} expires although a message for it is unread`);
    }
    const { answer } = entry;
    if (answer === undefined || !isOnMessage(history, run, answer)) continue;
    if (isNew && read.has(answer))
      history.violate("I6", `${where}: ${entry.key} takes the message at ${answer}, which was read before`);
    const taken = unread.get(answer);
    const earlier = [...unread.values()].find(
      (one) => one.topic === taken?.topic && one.seq < (taken?.seq ?? 0),
    );
    if (isNew && earlier !== undefined && !isFork)
      history.violate(
        "I6",
        `${where}: ${entry.key} takes the message at ${answer} before that at ${earlier.seq}`,
      );
    read.add(answer);
    unread.delete(answer);
  }
  judgeCarried(history, run, batch, where);
}

function concernsMessages({ kind, answer }: WrittenEntry): boolean {
  return answer !== undefined || /^(message\.sent|suspend\.expired|run\.continued)$/.test(kind);
}

/** A settlement before a verdict on a message may close its receive. */
function judgePlace(history: History, run: RunLog, batch: AppliedBatch, where: string): void {
  const first = batch.entries.find(({ kind }) => isSettlement(kind));
  for (const entry of batch.entries) {
    const { kind, answer } = entry;
    if (kind !== "suspend.resolved" || answer === undefined || entry === first) continue;
    if (isOnMessage(history, run, answer))
      history.violate("I6", `${where}: ${entry.key} takes a message after ${first?.key} has settled`);
  }
}

function judgeIds(history: History, run: RunLog, batch: AppliedBatch, where: string): void {
  for (const { kind, id } of batch.entries) {
    if (kind !== "message.sent" || id === undefined) continue;
    history.meet("a message that was recorded");
    const all = chaptersOf(run).flatMap((log) => history.entries(log));
    if (all.filter((entry) => entry.kind === "message.sent" && entry.id === id).length > 1)
      history.violate("I6", `${where}: ${id} is recorded twice`);
  }
}

/** The messages that a chapter begins with; their positions count up to -1. */
function carriedBy({ messages }: WrittenEntry): Unread[] {
  const { unread = [] } = messages ?? {};
  return unread.map(([topic, id], i) => ({ seq: i - unread.length, topic, id }));
}

function judgeCarried(history: History, run: RunLog, batch: AppliedBatch, where: string): void {
  const { earlier } = run;
  const [begins] = batch.entries;
  if (begins?.kind !== "run.continued" || earlier === undefined || history.lineage(earlier).length > 1)
    return;
  const sent = new Map<number, string>();
  const read = new Map<number, string | undefined>();
  for (const { entry, seq } of placed(earlier)) {
    if (entry.kind === "run.continued") for (const one of carriedBy(entry)) sent.set(one.seq, one.id);
    if (entry.kind === "message.sent") sent.set(seq, entry.id ?? "");
    if (entry.answer !== undefined) read.set(entry.answer, entry.key);
    // A wait that begins anew reads its messages again.
    if (entry.kind === "run.retried")
      for (const [message, key] of read) if (isTakenBack(key, entry.failed ?? [])) read.delete(message);
  }
  const expected = [...sent].flatMap(([seq, id]) => (read.has(seq) ? [] : [id])).join(", ");
  const found = carriedBy(begins)
    .map(({ id }) => id)
    .join(", ");
  if (found !== "") history.meet("a chapter that begins with unread messages");
  if (found !== expected)
    history.violate(
      "I6",
      `${where} begins with the messages ${found || "(none)"}, not ${expected || "(none)"}`,
    );
}
