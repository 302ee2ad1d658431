/**
 * I11: a rejection that nothing in a run's code catches blocks that run, and no other: its pass starts no more
 * work, and the process and its other runs go on. Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { Body } from "./history.ts";
import type { Process } from "./process.ts";
import type { ReplayPass } from "./replay-pass.ts";

/** An error that generated code leaves behind. */
class StrayError extends Error {}

export function isStray(error: unknown): boolean {
  return error instanceof StrayError;
}

/** Leaves a rejected promise behind in the code of a run. */
export function rejectUnawaited({ history, name, scheduler }: Process, runId: string): void {
  const pass = history.passes.findLast((other) => other.run?.runId === runId && other.process === name);
  if (pass !== undefined) pass.strayAt ??= scheduler.fired;
  history.strayed.add(runId);
  void Promise.reject(new StrayError(`a rejection of run ${runId} that nothing catches`));
}

/** Runs when a body starts. The runtime reports a rejection at the end of the event in which it happened. */
export function judgeStrayed({ history, scheduler }: Process, pass: ReplayPass, { key }: Body): void {
  if (pass.strayAt === null || scheduler.fired <= pass.strayAt) return;
  const { runId } = pass.run ?? {};
  history.violate("I11", `run ${runId}: ${key} starts after a rejection that nothing caught`);
}
