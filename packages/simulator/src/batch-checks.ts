/**
 * Checks on every batch at the moment the storage applies it.
 *
 * I1. One value per key: a key settles once.
 * I8. The journal is dense, nothing follows its end, and the head that came with the batch is its fold (law
 *     2).
 * I10. No timer fires early by the storage's clock, apart from the difference between the clocks of
 *      processes.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { RunHead } from "@durable/core";
import { judgeFamily } from "./child-checks.ts";
import { judgeFinding } from "./finding-checks.ts";
import { judgeAnnounced, noteDecided } from "./effect-checks.ts";
import { judgeForm } from "./entry-checks.ts";
import type { History } from "./history.ts";
import { judgeBorder } from "./chapter-checks.ts";
import { judgeMessages } from "./message-checks.ts";
import { judgeQueued } from "./queue-checks.ts";
import {
  areOneRun,
  batchesOf,
  chaptersOf,
  createdAt,
  driverOf,
  isEnd,
  isRetried,
  isSettlement,
  parkedUntil,
  type AppliedBatch,
  type RunLog,
  type WrittenEntry,
} from "./run-log.ts";
import { judgeSteered, settledBefore } from "./steer-checks.ts";
import { noteCoverage } from "./coverage-notes.ts";
import { judgeCleanUpTime } from "./lateness.ts";
import { judgeUndo } from "./undo-checks.ts";

export function judgeBatch(
  history: History,
  { run, batch }: { readonly run: RunLog; readonly batch: AppliedBatch },
  head: RunHead,
  slackMs: number,
): void {
  noteCoverage(history, run, batch);
  judgeDriver(history, run, batch);
  // Questions are noted even for runs of which the storage forgot a batch.
  for (const entry of batch.entries) noteQuestion(history, run, entry);
  if (run.tainted) return;
  const where = `run ${run.runId}, batch ${run.batches.length}`;
  const before = run.batches.slice(0, -1).flatMap(({ entries }) => entries);
  const isRetry = batch.entries[0]?.kind === "run.retried";
  const ended = before.slice(before.findLastIndex(({ kind }) => kind === "run.retried") + 1);
  if (!isRetry && ended.some(({ kind }) => isEnd(kind)))
    history.violate("I8", `${where} follows the end of its run`);
  if (batch.entries.length === 0) history.violate("I8", `${where} is empty`);
  judgeSteered(history, { run, batch }, slackMs);
  const settled = settledBefore(before, isSettlement);
  for (const [index, entry] of batch.entries.entries()) {
    if (isEnd(entry.kind) && index !== batch.entries.length - 1)
      history.violate("I8", `${where} goes on after ${entry.kind}`);
    if (!isSettlement(entry.kind)) continue;
    if (settled.has(entry.key)) history.violate("I1", `${where} settles ${entry.key} a second time`);
    settled.add(entry.key);
    judgeTimer(history, run, entry, slackMs);
  }
  for (const entry of batch.entries) judgeTimeout(history, run, { ...entry, appliedAt: batch.at });
  judgeHead(history, run, head, where);
  // Attempts begin anew, which the other checks do not know.
  if (isRetried(run)) return;
  judgeForm(history, run, batch);
  judgeBorder(history, run, batch);
  judgeMessages(history, run, batch);
  judgeFamily(history, run, batch);
  judgeUndo(history, run, batch);
  judgeCleanUpTime(history, run, batch);
  judgeQueued(history, run, batch);
  judgeFinding(history, { run, batch, head });
  for (const entry of batch.entries) {
    if (entry.kind === "step.started") judgeAnnounced(history, run, entry);
    noteDecided(history, run, entry);
  }
}

/**
 * Notes questions about uncertain attempts, which the engine asks, and those of code that is not observed.
 */
function noteQuestion(history: History, run: RunLog, { kind, key = "", wait = "" }: WrittenEntry): void {
  if (kind === "suspend.opened" && (key.includes("/uncertain") || !history.observed.has(run.workflow)))
    history.noteWait(run.locator + wait, { runId: run.runId, key, run });
}

function judgeHead(history: History, run: RunLog, head: RunHead, where: string): void {
  const entries = history.entries(run);
  const all = chaptersOf(run).flatMap((log) => history.entries(log));
  const steps = all.filter(({ kind }) => /^(step|stream)\.(completed|failed)$/.test(kind)).length;
  const suspended = run.status === "suspended" ? parkedUntil(entries) : null;
  // A journal without a workflow has no driver.
  const wakeAt = run.status === "running" && run.workflow !== "" ? 0 : suspended;
  const isSince =
    wakeAt === 0 ? head.dueSince !== null && head.dueSince <= head.updatedAt : head.dueSince === head.wakeAt;
  if (!isSince)
    history.violate("I8", `${where}: a run that wakes at ${head.wakeAt} is due since ${head.dueSince}`);
  const above = run.parent ?? (run.childOf ?? run.spawnedBy)?.runId ?? null;
  if (head.parent !== above) history.violate("I8", `${where}: the head names as parent ${head.parent}`);
  if ((head.chapter ?? 0) !== run.offset)
    history.violate("I8", `${where}: the head says that the chapter begins at ${head.chapter}`);
  // The head of a fork also counts inherited steps.
  const counted = run.parent === null ? head.steps === steps : head.steps >= steps;
  if (head.status === run.status && head.wakeAt === wakeAt && counted) return;
  const headText = `${head.status}, wake at ${head.wakeAt}, ${head.steps} steps`;
  history.violate(
    "I8",
    `${where}: the head says ${headText}; the journal ${run.status}, ${wakeAt}, ${steps}`,
  );
}

/** The deadline may have been set in the parent run, because a fork inherits open sleeps. */
function judgeTimer(history: History, run: RunLog, fired: WrittenEntry, slackMs: number): void {
  const opens =
    fired.kind === "sleep.fired"
      ? "sleep.opened"
      : fired.kind === "suspend.expired"
        ? "suspend.opened"
        : null;
  if (opens === null) return;
  const opened = history
    .lineage(run)
    .flatMap((log) => history.entries(log))
    .find(({ kind, key }) => kind === opens && key === fired.key);
  const until = opened?.until ?? opened?.expiresAt ?? undefined;
  const now = run.batches.at(-1)?.at ?? 0;
  if (until === undefined)
    history.violate("I10", `run ${run.runId}: ${fired.key} fired and was never opened`);
  else if (now + slackMs < until)
    history.violate("I10", `run ${run.runId}: ${fired.key} fired ${until - now} ms early`);
}

/** I10: an attempt fails by its timeout only after that time. */
function judgeTimeout(
  history: History,
  run: RunLog,
  { kind, key = "", attempt = 1, error, appliedAt }: WrittenEntry & { readonly appliedAt: number },
): void {
  const [, limit] = / took longer than (\d+) ms/.exec(JSON.stringify(error ?? null)) ?? [];
  if (limit === undefined || !/^(attempt|step|stream)\.failed$/.test(kind)) return;
  const bodies = history.bodies.filter(
    (body) => body.run === run && body.key === key && body.attempt === attempt,
  );
  if (bodies.some(({ chunks }) => chunks !== undefined)) history.meet("a stream that timed out");
  if (bodies.every(({ at }) => at + Number(limit) > appliedAt))
    history.violate("I10", `run ${run.runId}: attempt ${attempt} of ${key} timed out before ${limit} ms`);
}

/** J5: once another driver has written, the driver before it writes no more. */
function judgeDriver(history: History, run: RunLog, batch: AppliedBatch): void {
  if (batch.outside) return;
  const writer = driverOf(batch);
  const writes = history.drivers.get(writer) ?? run;
  history.drivers.set(writer, run);
  // A start that arrives after its run was deleted creates the run again, because no record of the old run is
  // left.
  if (!areOneRun(writes, run) && run.batches.length > 1) {
    // Runs of one id are distinguished by the time they began, which fails within one millisecond.
    const [first = writes] = chaptersOf(writes);
    if (createdAt(first) === createdAt(run)) run.tainted = writes.tainted = true;
    else history.violate("I8", `run ${run.runId}: a driver of the earlier run of this id wrote to it`);
  }
  if (run.tainted) return;
  const others = batchesOf(run)
    .slice(0, -1)
    .filter(({ outside }) => !outside);
  const last = others.at(-1);
  // A start that got no reply: its process reads what came since, takes the lease, and drives the run.
  const isBefore = (other: AppliedBatch, at: number): boolean => at > 0 && driverOf(other) === writer;
  if (last !== undefined && driverOf(last) !== writer && others.some(isBefore))
    history.violate("I8", `run ${run.runId}: a driver wrote again after another one had`);
}
