/**
 * I8: the form of the entries of a journal, batch by batch.
 *
 * - Answers, cancellations and the ends of children are marked as outside batches; nothing else is.
 * - One write id, one batch.
 * - Attempts of a step or a stream count 1, 2, 3, and the chunks of a stream are dense (stream-checks.ts).
 * - A group is opened before anything in it is recorded.
 * - `after` is the position of an earlier settlement, and `answer` that of an answer to the same wait.
 * - Answers to a wait are judged in the order in which they were recorded.
 * - A recorded answer is judged before a timer fires or the run parks.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import {
  isSettlement,
  placed,
  type AppliedBatch,
  type Placed,
  type RunLog,
  type WrittenEntry,
} from "./run-log.ts";
import { wrongChunks, wrongStream } from "./stream-checks.ts";
import { endsCode } from "./undo-checks.ts";

export function judgeForm(history: History, run: RunLog, batch: AppliedBatch): void {
  const where = `run ${run.runId}, batch ${run.batches.length}`;
  const [own, ...ancestors] = history.lineage(run).map(placed);
  const entries = own ?? [];
  const before = entries.slice(0, entries.length - batch.entries.length);
  const lineage = [...ancestors.flat(), ...entries];
  // The first batch of a run may repeat a request that was on its way when the run was deleted.
  if (history.writeIds.has(batch.by) && run.batches.length > 1)
    history.violate("I8", `${where} has the write id of another`);
  history.writeIds.add(batch.by);
  for (const { entry, seq } of entries.slice(before.length)) {
    const earlier = (): WrittenEntry[] => entries.filter((other) => other.seq < seq).map(entryOf);
    const wrong =
      run.workflow === ""
        ? wrongRecord(entry, batch, earlier)
        : (strayField(entry) ??
          wrongSender(entry, batch, before) ??
          wrongAttempt(entry, before) ??
          wrongStream(entry, earlier) ??
          (batch.outside ? null : wrongGroup(entry, seq, lineage)) ??
          wrongPlace(entry, seq, lineage));
    if (wrong !== null) history.violate("I8", `${where}: ${entry.kind} ${entry.key ?? ""} ${wrong}`);
  }
  if (!history.codeChanges) judgeOrder(history, where, entries, before.length);
}

/** Fields that an entry has only in memory. */
function strayField(entry: WrittenEntry): string | null {
  const found = ["seq", "outside"].find((field) => field in entry);
  return found === undefined ? null : `has the field ${found}, which is not part of the format`;
}

function entryOf({ entry }: Placed): WrittenEntry {
  return entry;
}

/**
 * In a journal without a workflow every process records, so failed attempts of several processes count
 * together.
 */
function wrongRecord(
  entry: WrittenEntry,
  { outside }: AppliedBatch,
  earlier: () => WrittenEntry[],
): string | null {
  return outside ? wrongChunks(entry, earlier) : "is not marked as from outside";
}

function wrongSender(
  { kind, input }: WrittenEntry,
  { outside, entries }: AppliedBatch,
  before: readonly Placed[],
): string | null {
  // A run that was cancelled and cleaned up is ended by its driver.
  if (kind === "run.cancelled" && before.some(({ entry }) => entry.kind === "run.cancelling")) return null;
  if (/^(suspend\.answered|message\.sent|run\.(cancelled|cancelling|paused|unpaused|retried))$/.test(kind))
    return outside ? null : "is not marked as from outside";
  // A start that moves a debounced run comes from outside, with an input.
  if (kind === "run.queued")
    return outside === (input !== undefined) ? null : "has an input, or none, against its sender";
  // Cancelling a child that has not begun also starts it, in the same outside batch.
  const unborn = kind === "run.started" && entries[1]?.kind === "run.cancelled";
  return outside && !unborn && !/^(suspend\.resolved|child\.(completed|failed))$/.test(kind)
    ? "comes from outside"
    : null;
}

function wrongAttempt(entry: WrittenEntry, before: readonly Placed[]): string | null {
  const { kind, key, attempt = 1, stream } = entry;
  if (!/^(step|attempt)\./.test(kind) || stream === true) return null;
  // A cancelled start has attempt 0.
  if (kind === "step.started" && attempt === 0) return null;
  const failed = before.filter(({ entry }) => entry.kind === "attempt.failed" && entry.key === key).length;
  return attempt === failed + 1 ? null : `is attempt ${attempt}, after ${failed} that failed`;
}

function wrongGroup({ key = "" }: WrittenEntry, seq: number, lineage: readonly Placed[]): string | null {
  const cut = key.lastIndexOf("[");
  if (cut === -1) return null;
  const group = key.slice(0, cut);
  // A child may have a deadline, and no branches.
  const opens = key.endsWith("[]/deadline") ? /^(parallel|race|child)\.opened$/ : /^(parallel|race)\.opened$/;
  const opened = lineage.some(
    ({ entry, seq: other }) => other < seq && entry.key === group && opens.test(entry.kind),
  );
  return opened ? null : `is in a group that was never opened`;
}

function wrongPlace(
  { after, answer, wait }: WrittenEntry,
  seq: number,
  lineage: readonly Placed[],
): string | null {
  if (after !== undefined && after !== 0) {
    const seen = lineage.some(
      ({ entry, seq: other }) => other === after && (isSettlement(entry.kind) || entry.kind === "run.forked"),
    );
    if (!seen || after >= seq) return `is at ${seq}, after ${after}, which settled nothing`;
  }
  // Messages that came with the chapter have negative positions: message-checks.ts.
  if (answer === undefined || answer < 0) return null;
  const answered = lineage.some(
    ({ entry, seq: other }) =>
      other === answer &&
      (entry.kind === "message.sent" || (entry.kind === "suspend.answered" && entry.wait === wait)),
  );
  return answered ? null : `names an answer at ${answer}, which is not one`;
}

/**
 * I6: answers are judged in their order, and no timer fires and no run parks before a recorded answer to an open wait is
 * judged. Code behind a foreign await has not reached its wait: timers fire, and it parks, with a time at which it is
 * checked again.
 */
function judgeOrder(history: History, where: string, entries: readonly Placed[], from: number): void {
  const open = new Set<string>();
  const unjudged = new Map<string, { readonly seq: number; readonly early: boolean }[]>();
  for (const [index, { entry, seq }] of entries.entries()) {
    const { kind, wait = "" } = entry;
    // The code is over, so no answer is judged any more.
    if (endsCode(kind)) return;
    // A wait that a retry takes back has no answers.
    if (kind === "run.retried") unjudged.clear();
    const left = unjudged.get(wait) ?? [];
    if (index >= from) {
      const late = [...unjudged.values()].flat().some(({ early }) => !early);
      const wrong = outOfTurn(entry, left[0]?.seq) ?? (late ? tooEarly(entry, history.foreign) : null);
      if (wrong !== null) history.violate("I6", `${where}: ${kind} ${entry.key ?? ""} ${wrong}`);
    }
    if (kind === "suspend.opened") open.add(wait);
    if (kind === "suspend.answered") unjudged.set(wait, [...left, { seq, early: !open.has(wait) }]);
    if (kind === "suspend.rejected") unjudged.set(wait, left.slice(1));
    if (!/^suspend\.(resolved|expired|closed)$/.test(kind)) continue;
    unjudged.delete(wait);
    open.delete(wait);
  }
}

/** A verdict is on the first answer that has none, and an answer that comes with its verdict has none before it. */
function outOfTurn({ kind, answer }: WrittenEntry, first: number | undefined): string | null {
  if (!/^suspend\.(resolved|rejected)$/.test(kind) || first === undefined || first === answer) return null;
  return `comes before the verdict on the answer at ${first}`;
}

function tooEarly({ kind, look }: WrittenEntry, isForeign: boolean): string | null {
  if ((kind === "sleep.fired" || kind === "suspend.expired") && !isForeign)
    return "overtakes an earlier answer";
  return kind === "run.suspended" && look === undefined ? "comes before an answer is judged" : null;
}
