/**
 * What comes in time. Judged only where nothing disturbs it: a process is steady when it lives, and has met no fault, no
 * pause and no full disk for a while.
 *
 * I37. A steady driver keeps the lease of its run: it does not end before the driver releases it.
 * I38. After faults have ended, what is due begins soon: a run for which a worker has a place, the run of a tick, a call
 *      under a limit that is free, and the end of a clean-up whose time is over.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body, History } from "./history.ts";
import type { NotedLease } from "./lease-notes.ts";
import type { Plan } from "./plan.ts";
import type { Process } from "./process.ts";
import { driverOf, isOpen, parkedUntil, type AppliedBatch, type RunLog } from "./run-log.ts";
import { childrenOf, type Tree } from "./tree.ts";

/** Runs when a driver gets a lease that it, or another one, had before. */
export function judgeLapse(history: History, run: RunLog | undefined, before: NotedLease): void {
  const { process, owner, since, until, ttlMs } = before;
  // It was given back: a driver asks for no time then.
  if (ttlMs === 0) return;
  if (run === undefined || run.deleted || run.tainted || history.dead.has(process)) return;
  if (!history.steady.has(process, Math.min(since, until - ttlMs))) return;
  // A batch of another driver, which came late, has ended this one.
  const isAlone = run.batches.every(
    (batch) => batch.at < since || batch.outside || driverOf(batch) === owner.split("~")[0],
  );
  if (isAlone)
    history.violate(
      "I37",
      `run ${run.runId}: the lease of ${process} ended at ${until}, and nothing disturbed it`,
    );
}

/** How long workers of a plan may take to find a due run; `null` where too much else decides about that. */
export function findingMsOf(plan: Plan, slackMs: number): number | null {
  const { announces = false, lostNotices = 0, intervalMs, latencyMs, concurrency } = plan;
  const isShared = plan.slots !== undefined || plan.share !== undefined || plan.pauses === true;
  const isOdd = plan.sweeps || plan.busy === true || hasKiller(plan);
  if (slackMs > 0 || isShared || isOdd || concurrency < 10) return null;
  // The longest pauses of an idle worker: where it gets notices, where it may lose them, and where it polls.
  const idleMs = !announces ? Math.max(5_000, intervalMs) : lostNotices === 0 ? intervalMs : 30_000;
  return 1.1 * idleMs + intervalMs + 20 * latencyMs + 1_000;
}

/** It has a run that kills its drivers. */
export function hasKiller({ flows }: Plan): boolean {
  return flows.some(({ name }) => name === "killer");
}

/** Runs when a driver gets the lease of a run. */
export function judgeFound(history: History, run: RunLog | undefined): void {
  const { now, steady } = history;
  const { healedAt, foundWithinMs, settledMs } = steady;
  if (run === undefined || foundWithinMs === null || !isOpen(run) || run.tainted) return;
  // Blocked runs rest for a minute, and a child without a worker waits for its parent.
  const mayRest = history.codeChanges || history.foreign || history.strayed.has(run.runId);
  if (mayRest || !history.known.has(run.workflow) || run.status === "paused" || history.open > 10) return;
  if (history.leases.hadSuspectSince(healedAt)) return;
  const dueAt = run.status === "running" ? 0 : parkedUntil(history.entries(run));
  const since = Math.max(
    dueAt ?? Infinity,
    history.leases.freeSince(run.locator),
    run.batches.at(-1)?.at ?? 0,
  );
  const late = now - since;
  // A request that was on its way when faults ended may have changed it.
  if (since > healedAt + settledMs && late > foundWithinMs)
    history.violate("I38", `run ${run.runId} was due for ${late} ms before a driver took it`);
}

/** How late a parked clean-up may be found, whatever decides about that: ten calls of 20 seconds, one at a time, may come first. */
const lateMs = 240_000;

/** Runs when a clean-up has ended. */
export function judgeCleanUpTime(history: History, run: RunLog, batch: AppliedBatch): void {
  const ended = batch.entries.find(({ kind }) => /^cleanup\.(completed|failed)$/.test(kind));
  const begun = run.batches.find(({ entries }) =>
    entries.some(({ kind, key }) => kind === "cleanup.started" && key === ended?.key),
  );
  const { cleanUpMs } = history.steady;
  if (ended === undefined || begun === undefined || cleanUpMs === null) return;
  // A driver that takes over after a crash gives it the whole time again.
  const isCalm = run.batches.every(
    ({ at, process, outside }) =>
      at < begun.at || outside || (!history.dead.has(process) && history.steady.has(process, begun.at)),
  );
  const late = batch.at - begun.at - cleanUpMs;
  if (isCalm && late > lateMs)
    history.violate("I38", `run ${run.runId}: ${ended.key} ended ${late} ms after its time`);
}

/** The time that all clean-ups of a plan have. */
export function cleanUpMsOf({ flows }: Plan, slackMs: number): number | null {
  if (slackMs > 0) return null;
  const found = (tree: Tree): number | undefined =>
    tree.kind === "cleanup"
      ? tree.timeoutMs
      : childrenOf(tree)
          .map(found)
          .find((ms) => ms !== undefined);
  return flows.map(({ tree }) => found(tree)).find((ms) => ms !== undefined) ?? null;
}

/** The longest pause between two attempts of a step to get its permit, with room for its requests. */
const permitMs = 1_000;

/** Runs when a body under a limit starts, after `called`, while others are under way. */
export function judgePermit(
  { history, scheduler, name }: Process,
  plan: Plan,
  { body, calledAt, others }: { readonly body: Body; readonly calledAt: number; readonly others: number },
): void {
  const { queue, leaseMs, latencyMs, busy } = plan;
  const { limit } = queue ?? {};
  const { healedAt, permitFreeAt } = history.steady;
  const { now } = scheduler;
  // After faults, what dead processes had is free at the end of its time. Some runs kill their drivers even then.
  if (limit === undefined || busy === true || hasKiller(plan) || others >= limit.concurrent) return;
  // A later attempt first waits for a time that another process may have recorded, by its own clock.
  if (body.attempt > 1 && history.clocksMove) return;
  // A warm run was called before it parked; it asks again once a driver has it.
  const drivenSince = body.run === undefined ? 0 : history.leases.since(body.run.locator);
  const since = Math.max(calledAt, drivenSince, permitFreeAt, healedAt + 2 * leaseMs);
  const recent = history.bodies.filter(({ at, key }) => key === body.key && at > now - 3 * limit.perMs);
  // The window may be what it waits for.
  if (recent.length > limit.calls / 2 || now - since <= permitMs + 40 * latencyMs) return;
  history.violate(
    "I38",
    `run ${body.run?.runId}: ${name} waited ${now - since} ms for a permit that was free`,
  );
}
