/**
 * Checks on every body at the moment it starts.
 *
 * I3. Its process has not read its outcome, and the attempts before it are recorded.
 * I9. Its process knows of no cancellation, was not terminated, and the group around it is not decided.
 * I10. A further attempt is not early.
 * I12. Its process has requested the lease, and by its clock the lease has not expired (H23).
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body, History } from "./history.ts";
import { isRetried, isSettlement, type RunLog } from "./run-log.ts";
import { limitedStep } from "./queue-plan.ts";
import { isOfTick } from "./schedule-checks.ts";
import { settledBefore } from "./steer-checks.ts";
import type { ReplayPass } from "./replay-pass.ts";
import type { Process } from "./process.ts";
import { isOfCleanUp } from "./undo-checks.ts";
import { isOfStream } from "./stream-checks.ts";

export function judgeStart(history: History, process: Process, pass: ReplayPass, body: Body): void {
  const { run } = pass;
  const { key, attempt, at } = body;
  if (run === undefined) {
    if (history.forgotten.size === 0) history.violate("I3", `${key} starts before its run is recorded`);
    return;
  }
  if (run.tainted) return;
  const where = `run ${run.runId}: ${process.name} starts ${key}`;
  const takenBack = isRetried(run) && !settledBefore(history.entries(run), isSettlement).has(key);
  if (hasOneJournal(process, run) && process.knows(run, key) && !takenBack)
    history.violate("I3", `${where} again after it read the outcome`);
  if (hasOneJournal(process, run) && process.knows(run, "continued"))
    history.violate("I3", `${where} of chapter ${run.chapter} after it read that the next one began`);
  const undoes = key.endsWith("/compensate") || isOfCleanUp(key);
  if (!undoes && hasOneJournal(process, run) && process.knows(run, "cancelling"))
    history.violate("I9", `${where} after it read that the run is cancelled`);
  judgeEnds(history, process, pass, where);
  // Work that began in a lost branch is undone, too.
  if (pass.isLost(key) && !undoes) history.violate("I9", `${where}in a group that is already decided`);
  // The driver has checked its lease in this turn, in the middle of which the lease may expire.
  if (process.clockAtTurn >= process.leasedUntil(run.locator))
    history.violate("I12", `${where} without a valid lease`);
  judgeAttempt(history, run, { process, where, body: { ...body, key, attempt, at } });
}

/**
 * A caller may have several journals of one run open, which do not share what they have read. So may a worker that
 * cancels the run of the tick before.
 */
export function hasOneJournal({ name }: Process, { family, runId }: RunLog): boolean {
  return name.startsWith("worker") && !family && !isOfTick(runId);
}

function judgeEnds(history: History, process: Process, { run, worker }: ReplayPass, where: string): void {
  if (run !== undefined && hasOneJournal(process, run) && process.knows(run, "cancelled"))
    history.violate("I9", `${where} after it read the cancellation`);
  if (run !== undefined && hasOneJournal(process, run) && process.knows(run, "paused"))
    history.violate("I20", `${where} after it read that the run is paused`);
  // A fork that a step makes is driven outside of the worker, which does not know of it.
  if (worker && run !== undefined && !history.isOfFork(run) && process.asked)
    history.violate("I9", `${where} after it was terminated`);
}

interface Starting {
  readonly process: Process;
  readonly where: string;
  readonly body: Body;
}

function judgeAttempt(history: History, run: RunLog, { process, where, body }: Starting): void {
  const { key, attempt } = body;
  const of = history.entries(run).filter((entry) => entry.key === key);
  const failed = of.filter(({ kind }) => kind === "attempt.failed");
  // Every attempt of a stream that left a chunk has a number, whether it failed or was cut off. A fork that is retried may have it
  // from its parent.
  const streamed = (isRetried(run) ? history.lineage(run) : [run])
    .flatMap((log) => history.entries(log))
    .filter((entry) => entry.key === key && isOfStream(entry));
  const recorded = Math.max(failed.length, ...streamed.map((entry) => entry.attempt ?? 1));
  if (recorded < attempt - 1)
    history.violate("I3", `${where} for attempt ${attempt}, but only ${recorded} are recorded`);
  const last = failed.at(-1);
  // An announced attempt was due when it was first announced, by the clock of the process that announced it.
  const announced = of.find((entry) => entry.kind === "step.started" && entry.attempt === attempt);
  const next = recorded === attempt - 1 && (last?.attempt ?? 1) === recorded;
  const early = (next ? (last?.retryAt ?? 0) : 0) - (announced?.at ?? process.clock);
  // The clock may be set back while a step whose time had come waits for its permit.
  if (early > 0 && !(history.clocksMove && key === limitedStep))
    history.violate("I10", `${where} for attempt ${attempt}, ${early} ms early`);
}
