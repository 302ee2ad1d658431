/**
 * The async context of simulated code. Each process has one, a drive of a worker adds its run, and each call
 * of a generated workflow its place.
 *
 * I14. Every chapter of a workflow sees the context of its drive. Work, a branch and the resolution of an
 *      uncertain attempt see the context in which their call was made, in every drive.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { History } from "./history.ts";
import type { RunLog } from "./run-log.ts";

export interface Surroundings {
  readonly process: string;
  /** The run that a worker drives. */
  readonly drive?: string;
  /** The place in the tree of a call. */
  readonly place?: string;
}

export const surroundings = new AsyncLocalStorage<Surroundings>();

/** Runs code of a process as if nothing of another process had led to it. */
export function inProcess<R>(process: string, work: () => R): R {
  return surroundings.run({ process }, work);
}

/** Makes a call with its place in its context. */
export function atPlace<R>(place: string, call: () => R): R {
  return surroundings.run({ process: "none", ...surroundings.getStore(), place }, call);
}

/** Runs when a workflow function is called. */
export function judgeBodyContext(
  history: History,
  run: RunLog | undefined,
  { process, driven }: { readonly process: string; readonly driven: boolean },
): void {
  const seen = surroundings.getStore();
  // A fork is driven where it was made, a child with its parent, and a run that cleans up where it was cancelled.
  const own =
    driven &&
    run !== undefined &&
    run.above === undefined &&
    !history.isOfFork(run) &&
    !cleansUp(history, run);
  // Neither the calls of the parent nor those of the chapter before lead to it, unless a call after a foreign
  // await has woken the parent.
  const alone = history.foreign || run === undefined || history.isOfFork(run) || seen?.place === undefined;
  if (seen?.process === process && alone && (!own || seen.drive === run.runId)) return;
  history.violate("I14", `run ${run?.runId}: its code in ${process} sees ${JSON.stringify(seen)}`);
}

function cleansUp(history: History, run: RunLog): boolean {
  return history.entries(run).some(({ kind }) => kind === "run.cancelling");
}

/** Runs when work or a branch starts. */
export function judgeWorkContext(history: History, runId: string, expected: Surroundings): void {
  const seen = surroundings.getStore();
  if (seen?.process === expected.process && seen.place === expected.place) return;
  history.violate(
    "I14",
    `run ${runId}: the code at ${expected.place} in ${expected.process} sees ${JSON.stringify(seen)}`,
  );
}
