/**
 * I7: a run gets the input it was started with; a fork gets its own, if it was made with one, and that of its
 * parent otherwise. Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import type { RunLog } from "./run-log.ts";

/** The input of a generated run. The input of a child is the name of its workflow. */
export interface RunInput {
  readonly given: string;
}

/** The input of a run of the plan. A run that is started again under its id gets another one. */
export function inputFor(id: string, life = 1): RunInput {
  return { given: `given ${life} to ${id}` };
}

/** Runs when a workflow function is called. */
export function judgeInput(history: History, run: RunLog | undefined, input: unknown): void {
  if (run === undefined || history.lineage(run).some(({ tainted }) => tainted)) return;
  const expected = JSON.stringify(inputOf(history, run));
  if (JSON.stringify(input) !== expected)
    history.violate("I7", `run ${run.runId} gets the input ${JSON.stringify(input)} instead of ${expected}`);
}

/** The input of a run by its journal and those of its ancestors. */
export function inputOf(history: History, run: RunLog): unknown {
  const entries = history.entries(run);
  // A debounced run has the input of the last start that moved it.
  const moved = entries.findLast(({ kind, input }) => kind === "run.queued" && input !== undefined);
  const { input } = moved ?? entries[0] ?? {};
  if (input !== undefined || run.parentLog === undefined) return input;
  return inputOf(history, run.parentLog);
}

/** True when a run, or a run that it reads, is a fork that got another input, in any chapter. */
export function hasNewInput(history: History, run: RunLog): boolean {
  return history.sources(run).some((log) => {
    const [first] = history.entries(log);
    return first?.kind === "run.forked" && first.input !== undefined;
  });
}
