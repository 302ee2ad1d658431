/**
 * I3: the work of one attempt runs a second time only for a reason.
 *
 * The process of the first execution died, its driver lost the lease or could not write, its attempt is
 * recorded as failed, the run was retried, the code was changed since, or the code had left the work behind and a
 * pause kept the run from its end.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body, History } from "./history.ts";
import { isRetried, isSettlement, type AppliedBatch } from "./run-log.ts";
import { settledBefore } from "./steer-checks.ts";

/** Runs when a body starts. */
export function judgeRepeat(history: History, body: Body): void {
  const { run, key, attempt, process } = body;
  if (run === undefined || run.tainted || run.deleted) return;
  const last = history.bodies.findLast((other) => other !== body && other.run === run && other.key === key);
  if (last === undefined) return;
  // A process does not notice that its lease has expired if its clock was set back, nor that the driver before it wrote late.
  const unnoticed = history.clocksMove || history.leases.isOvertaken(process, run.locator);
  const late = unnoticed && !body.leased;
  const reason = late ? "its lease was lost" : reasonFor(history, last);
  if (reason === null)
    history.violate(
      "I3",
      `run ${run.runId}: ${process} starts attempt ${attempt} of ${key} although nothing cut off attempt ${last.attempt} in ${last.process}`,
    );
  else history.meet(`work that ran again: ${reason}`);
}

function reasonFor(history: History, { run, key, attempt, process, at, leased }: Body): string | null {
  const failed = (run === undefined ? [] : history.entries(run)).some(
    (entry) => entry.kind === "attempt.failed" && entry.key === key && (entry.attempt ?? 1) === attempt,
  );
  if (failed) return "it failed";
  if (run !== undefined && isRetried(run) && !settledBefore(history.entries(run), isSettlement).has(key))
    return "its run was retried";
  if (history.dead.has(process)) return "its process died";
  // In the changed code, a branch that had lost may run.
  const codes = history.passes.filter((pass) => pass.run === run).map(({ code }) => code);
  if (new Set(codes).size > 1) return "its code changed";
  // By the storage's clock: that of the operator may be wrong.
  const isPaused = ({ at: since, entries }: AppliedBatch): boolean =>
    since >= at && entries.some(({ kind }) => kind === "run.paused");
  if (run !== undefined && key.endsWith("left behind") && run.batches.some(isPaused))
    return "its run was paused";
  const { locator = "" } = run ?? {};
  if (!leased || history.leases.isLostSince(locator, at)) return "its lease was lost";
  if (history.leases.hasGivenUpSince(process, locator, at)) return "its appends failed";
  return null;
}
