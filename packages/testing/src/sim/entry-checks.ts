/**
 * I8: what the entries of a journal must look like, batch by batch.
 *
 * - Answers, cancellations and the ends of children come from outside and say so; nothing else does.
 * - One write id, one batch.
 * - Attempts of a step count 1, 2, 3; those of a stream do, and its chunks are dense (stream-checks.ts).
 * - A group is opened before anything in it is recorded.
 * - `after` is a position that was delivered before, and `answer` that of an answer to the same wait.
 * - An answer that stands is judged before a timer fires or the run parks.
 */

import type { History } from "./history.ts";
import { isSettlement, type AppliedBatch, type RunLog, type WrittenEntry } from "./run-log.ts";
import { wrongChunks, wrongStream } from "./stream-checks.ts";

/** An entry and its position on the one line that a run shares with its ancestors. */
interface Placed {
  readonly entry: WrittenEntry;
  readonly seq: number;
}

export function judgeForm(history: History, run: RunLog, batch: AppliedBatch): void {
  const where = `run ${run.runId}, batch ${run.batches.length}`;
  const [own, ...ancestors] = history.lineage(run).map(placed);
  const entries = own ?? [];
  const before = entries.slice(0, entries.length - batch.entries.length);
  const lineage = [...ancestors.flat(), ...entries];
  // The first batch of a run may be a request that was under way when the run was deleted.
  if (history.writeIds.has(batch.by) && run.batches.length > 1)
    history.violate("I8", `${where} has the write id of another`);
  history.writeIds.add(batch.by);
  for (const { entry, seq } of entries.slice(before.length)) {
    const earlier = (): WrittenEntry[] => entries.filter((other) => other.seq < seq).map(entryOf);
    const wrong =
      run.workflow === ""
        ? wrongRecord(entry, batch, earlier)
        : (wrongSender(entry, batch) ??
          wrongAttempt(entry, before) ??
          wrongStream(entry, earlier) ??
          (batch.outside ? null : wrongGroup(entry, seq, lineage)) ??
          wrongPlace(entry, seq, lineage));
    if (wrong !== null) history.violate("I8", `${where}: ${entry.kind} ${entry.key ?? ""} ${wrong}`);
  }
  if (!history.codeChanges) judgeOrder(history, where, entries, before.length);
}

function entryOf({ entry }: Placed): WrittenEntry {
  return entry;
}

/** In a journal without a workflow anybody records, and who fails beside others counts as they do. */
function wrongRecord(
  entry: WrittenEntry,
  { outside }: AppliedBatch,
  earlier: () => WrittenEntry[],
): string | null {
  return outside ? wrongChunks(entry, earlier) : "is not marked as from outside";
}

function placed({ batches }: RunLog): Placed[] {
  const entries = batches.flatMap((batch) => batch.entries);
  const base = entries[0]?.base ?? 0;
  return entries.map((entry, i) => ({ entry, seq: base + i + 1 }));
}

function wrongSender({ kind }: WrittenEntry, { outside, entries }: AppliedBatch): string | null {
  if (/^(suspend\.answered|run\.cancelled)$/.test(kind))
    return outside ? null : "is not marked as from outside";
  // A child that is cancelled before it began is begun by whoever cancels it.
  const unborn = kind === "run.started" && entries[1]?.kind === "run.cancelled";
  return outside && !unborn && !/^(suspend\.resolved|child\.(completed|failed))$/.test(kind)
    ? "comes from outside"
    : null;
}

function wrongAttempt(entry: WrittenEntry, before: readonly Placed[]): string | null {
  const { kind, key, attempt = 1, stream } = entry;
  if (!/^(step|attempt)\./.test(kind) || stream === true) return null;
  // A start that is called off has no number.
  if (kind === "step.started" && attempt === 0) return null;
  const failed = before.filter(({ entry }) => entry.kind === "attempt.failed" && entry.key === key).length;
  return attempt === failed + 1 ? null : `is attempt ${attempt}, after ${failed} that failed`;
}

function wrongGroup({ key = "" }: WrittenEntry, seq: number, lineage: readonly Placed[]): string | null {
  const cut = key.lastIndexOf("[");
  if (cut === -1) return null;
  const group = key.slice(0, cut);
  const opened = lineage.some(
    ({ entry, seq: other }) =>
      other < seq && entry.key === group && /^(parallel|race)\.opened$/.test(entry.kind),
  );
  return opened ? null : `stands in a group that was never opened`;
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
    if (!seen || after >= seq) return `stands at ${seq}, after ${after}, where nothing was delivered`;
  }
  if (answer === undefined) return null;
  const answered = lineage.some(
    ({ entry, seq: other }) => other === answer && entry.kind === "suspend.answered" && entry.wait === wait,
  );
  return answered ? null : `speaks of an answer at ${answer}, where there is none`;
}

/** Answers that stand in the journal, whose wait is open, and of which nobody has said what they are worth. */
function judgeOrder(history: History, where: string, entries: readonly Placed[], from: number): void {
  const open = new Set<string>();
  const unjudged = new Set<string>();
  for (const [index, { entry }] of entries.entries()) {
    const { kind, wait = "" } = entry;
    if (index >= from && unjudged.size > 0) {
      if (kind === "sleep.fired" || kind === "suspend.expired")
        history.violate("I6", `${where}: ${kind} ${entry.key} overtakes an answer that came first`);
      if (kind === "run.suspended")
        history.violate("I6", `${where}: the run parks beside an answer nobody judged`);
    }
    if (kind === "suspend.opened") open.add(wait);
    if (kind === "suspend.answered" && open.has(wait)) unjudged.add(wait);
    if (/^suspend\.(resolved|rejected|expired|closed)$/.test(kind)) unjudged.delete(wait);
    if (/^suspend\.(resolved|expired|closed)$/.test(kind)) open.delete(wait);
  }
}
