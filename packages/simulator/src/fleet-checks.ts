/**
 * Workers that are kept to some runs, and workflows that are paused.
 *
 * I32. A worker that knows that a workflow is paused takes no run of it, and goes on with none. It asks before it
 *      drives a run.
 * I33. A worker of some workflows or versions drives no run of others, but for children, which go with their parent,
 *      and runs that its own runs make.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { WorkerOptions } from "@durable/core";
import type { Body, History } from "./history.ts";
import type { Process } from "./process.ts";
import type { ReplayPass } from "./replay-pass.ts";
import type { RunLog } from "./run-log.ts";

/** Runs when a body of a worker starts. */
export function judgePaused(process: Process, pass: ReplayPass, { run, leased }: Body): void {
  const { history, pausesTold: told } = process;
  if (run === undefined || !leased || !pass.worker) return;
  const begins = `run ${run.runId}: ${process.name} starts work`;
  if (told === null) return history.violate("I32", `${begins}, and has not asked for paused workflows`);
  const since = history.leases.since(run.locator);
  if (pass.firstBodyAt < since) pass.firstBodyAt = process.scheduler.now;
  if (!told.paused.has(run.workflow)) return;
  // A pause that arrives between the check and the first work of a drive is noticed by the next check.
  const knewBefore = told.at < since || told.at > pass.firstBodyAt;
  if (knewBefore) history.violate("I32", `${begins}, and knows that ${run.workflow} is paused`);
}

/** Runs when a body of a worker starts. */
export function judgeKept(
  history: History,
  { run, leased, process }: Body,
  { workflows, versions }: Pick<WorkerOptions, "workflows" | "versions">,
): void {
  if (run === undefined || !leased || isOfAnother(history, run)) return;
  const version = run.batches[0]?.entries.find((entry) => entry.version !== undefined)?.version ?? null;
  const isOwn = workflows?.includes(run.workflow) !== false && versions?.includes(String(version)) !== false;
  if (workflows !== undefined) history.meet("work in a worker of some workflows");
  if (versions !== undefined) history.meet(`work in a worker of version ${versions.join()}`);
  if (!isOwn)
    history.violate("I33", `run ${run.runId}: ${process} drives ${run.workflow} of version ${version}`);
}

/** Driven where another run has made it. */
function isOfAnother(history: History, run: RunLog): boolean {
  const spawned = history.entries(run).some(({ spawnedBy }) => spawnedBy !== undefined);
  return run.above !== undefined || spawned || history.isOfFork(run);
}
