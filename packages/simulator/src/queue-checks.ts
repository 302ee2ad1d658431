/**
 * Runs that wait for their time, their rate or the limit of a service. Counts are compared with what is allowed since the
 * first of these runs was recorded: what is taken in time may be used late.
 *
 * I34. No run begins before its time by the clock of its driver, and no more begin than their rate allows.
 * I35. No more attempts are made under a limit than it allows, in all and at the same time.
 * I36. While a run with a key is open, no other one with this key is recorded. The input of a run that has begun stays.
 *      The run that a start was acknowledged with has the input of that start, unless a start of the same key made it.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body, History } from "./history.ts";
import { inputFor } from "./input-checks.ts";
import { judgePermit } from "./lateness.ts";
import type { Plan, QueuedStart } from "./plan.ts";
import type { Process } from "./process.ts";
import type { ReplayPass } from "./replay-pass.ts";
import { isLimited, queuedWorkflow } from "./queue-plan.ts";
import { flowOf, isOpen, type AppliedBatch, type RunLog, type WrittenEntry } from "./run-log.ts";

/** Runs when a batch is applied. */
export function judgeQueued(history: History, run: RunLog, { entries }: AppliedBatch): void {
  const key = flowOf(entries)?.singleton;
  const isOther = (other: RunLog): boolean =>
    other !== run && other.workflow === run.workflow && isOpen(other) && !other.tainted;
  if (key !== undefined)
    for (const other of history.runs.filter(isOther))
      if (flowOf(history.entries(other))?.singleton === key)
        history.violate("I36", `run ${run.runId} has the key ${key} of run ${other.runId}, which is open`);
  for (const entry of entries) if (entry.kind === "run.queued") judgeMove(history, run, entry);
}

function judgeMove(history: History, run: RunLog, entry: WrittenEntry): void {
  if (entry.begun === true) return judgeTime(history, run, entry.at);
  if (entry.input === undefined) return history.meet("a run that waited for its turn");
  history.meet("a start that moved a run");
  const before = history.entries(run).slice(0, history.entries(run).indexOf(entry));
  const begun = before.find(isBegun);
  if (begun !== undefined)
    history.violate("I36", `run ${run.runId} gets another input after its ${begun.kind}`);
}

function isBegun({ begun, kind }: { readonly begun?: true; readonly kind: string }): boolean {
  return begun === true || /^(step|sleep)\./.test(kind);
}

/** Runs when a body starts. */
export function judgeBeginning(process: Process, plan: Plan, { run, leased, key }: Body): void {
  const { history } = process;
  if (plan.queue === undefined || run === undefined || run.workflow !== queuedWorkflow(plan)) return;
  const { rate, limit } = plan.queue;
  const bodies = history.bodies.filter((body) => body.run?.workflow === run.workflow);
  if (bodies.filter((body) => body.run === run).length === 1) {
    // Another driver, whose clock may be ahead, has begun the run: this one does its work.
    const hasBegun = history.entries(run).some(isBegun);
    if (leased && !hasBegun) judgeTime(history, run, process.clock);
    const begun = new Set(bodies.map((body) => body.run)).size;
    if (rate !== undefined && begun > allowedIn(process, run.workflow, rate))
      history.violate("I34", `run ${run.runId} is number ${begun} of ${rate.limit} in ${rate.perMs} ms`);
  }
  if (limit === undefined || !isLimited(plan, run.workflow, key)) return;
  history.meet("an attempt under a limit");
  const made = bodies.filter((body) => isLimited(plan, run.workflow, body.key)).length;
  if (made > allowedIn(process, run.workflow, { limit: limit.calls, perMs: limit.perMs }))
    history.violate("I35", `run ${run.runId}: attempt number ${made} of ${limit.calls} in ${limit.perMs} ms`);
}

/** How many a limit has allowed since the first run of the workflow was recorded. */
function allowedIn(
  { history, scheduler }: Process,
  workflow: string,
  { limit, perMs }: { readonly limit: number; readonly perMs: number },
): number {
  const first = history.runs.find((run) => run.workflow === workflow)?.batches[0]?.at ?? 0;
  return limit * (Math.floor((scheduler.now - first) / perMs) + 1);
}

/** By the clock of the driver that begins the run. */
function judgeTime(history: History, run: RunLog, now: number): void {
  const { startAt } = flowOf(history.entries(run)) ?? {};
  if (startAt === undefined || run.tainted) return;
  history.meet("a run that began at its time");
  if (now < startAt && !history.clocksMove)
    history.violate("I34", `run ${run.runId} begins ${startAt - now} ms before its time`);
}

/** Runs when a body starts; returns what to call at its end. */
export function takePermit(process: Process, plan: Plan, body: Body, { called }: ReplayPass): () => void {
  const { run, key } = body;
  const { limit } = plan.queue ?? {};
  if (limit === undefined || !isLimited(plan, run?.workflow, key)) return () => {};
  const { history, scheduler, lastSwap } = process;
  // A call may outlast its first permit, which a process that nothing disturbs moves on.
  const others = [...history.permitted].filter(
    ({ process: its, since, until }) =>
      (until > scheduler.now || history.steady.has(its, since)) && !history.dead.has(its),
  );
  judgePermit(process, plan, {
    body,
    calledAt: called.get(key) ?? scheduler.now,
    others: others.length,
  });
  if (others.length > 0) history.meet("two attempts under a limit at the same time");
  // If its reply was not the last one, nothing shows which permit it has. It lasts for a lease from when it was asked for.
  const isKnown = lastSwap?.toldAt === scheduler.now && !history.clocksMove;
  const until = isKnown ? lastSwap.at + plan.leaseMs / 2 : 0;
  if (until > scheduler.now && others.length >= limit.concurrent)
    history.violate(
      "I35",
      `run ${run?.runId}: ${others.length} other attempts are under way, of ${limit.concurrent}`,
    );
  const own = { process: process.name, since: scheduler.now, until };
  history.permitted.add(own);
  // Called at its abort, from when it does not count, and at its end: until then, its call may go on at the provider.
  return () => {
    history.permitted.delete(own);
    history.steady.permitFreeAt = scheduler.now;
  };
}

/** Runs after the end of the simulation. */
export function judgeAcknowledged(history: History, plan: Plan): void {
  for (const { start, runId } of history.queued) {
    const logs = history.runs.filter((run) => run.runId === runId);
    if (logs.some(({ tainted }) => tainted) || history.forgotten.size > 0) continue;
    const inputs = new Set(
      logs.flatMap((log) => history.entries(log).map(({ input }) => JSON.stringify(input))),
    );
    const isOf = ({ name }: QueuedStart): boolean => inputs.has(JSON.stringify(inputFor(name)));
    if (isOf(start)) continue;
    const { singleton } = start;
    const equal = plan.queue?.starts.filter((other) => other.singleton === singleton) ?? [];
    if (singleton !== undefined && equal.some(isOf)) history.meet("a start that found a run with its key");
    else
      history.violate(
        "I36",
        `${start.name} was acknowledged with run ${runId}, which does not have its input`,
      );
  }
}
