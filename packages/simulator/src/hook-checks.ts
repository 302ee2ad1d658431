/**
 * I15: hooks report what is recorded: each outcome of a step once as live, in all processes together, and otherwise as
 * replayed. Some of them fail, in every way that a hook can fail, and that affects nothing. Proven by the planted bugs of
 * `npm run sim:mutants`.
 */

import type { Hooks, StepEvent } from "@durable/core/hooks";
import type { History } from "./history.ts";
import type { Process } from "./process.ts";

/** How often outcomes were reported as live. */
const live = new WeakMap<History, Map<string, number>>();

/** Hooks of one process, with their checks. */
export function judgingHooks(process: Process): Hooks {
  const { history } = process;
  let calls = 0;
  /** Every few calls a hook fails. No randomness, so that hooks change no other draw. */
  const misbehave = (): unknown => {
    const turn = ++calls % 7;
    if (turn !== 3 && turn !== 5) return undefined;
    history.meet("a hook that failed");
    if (turn === 3) throw new Error("a hook of the simulation");
    return Promise.reject(new Error("a hook of the simulation"));
  };
  return {
    onRun: () => misbehave,
    onAttempt: () => (work) => {
      // Otherwise the work runs without its surroundings.
      if (calls % 4 !== 0) void work();
      return misbehave();
    },
    onStep: (event) => {
      if (process.alive) judgeStep(history, event);
      return misbehave();
    },
    onWait: misbehave,
    onEnd: misbehave,
    onBlocked: misbehave,
  };
}

function judgeStep(history: History, { runId, seed, key, endedAt, replayed }: StepEvent): void {
  const logs = history.runs.filter((run) => run.runId === runId).flatMap((run) => history.sources(run));
  const entries = logs.flatMap((run) => history.entries(run));
  const recorded = entries.filter((entry) => entry.key === key && entry.at === endedAt).length;
  const isRecorded = recorded > 0 || entries.some(({ edits }) => hasEdit(edits, key));
  // A storage that lies forgets what it has acknowledged.
  if (logs.length === 0 || logs.some(({ tainted }) => tainted)) return;
  if (!isRecorded) history.violate("I15", `run ${runId}: a hook reports ${key}, which is not recorded`);
  const reported = live.get(history) ?? new Map<string, number>();
  live.set(history, reported);
  // A child that was deleted begins again under its id.
  const name = JSON.stringify([seed, key, endedAt]);
  if (replayed) return;
  const times = (reported.get(name) ?? 0) + 1;
  reported.set(name, times);
  // A run that is retried twice within a millisecond has two outcomes of that time.
  if (times > Math.max(1, recorded))
    history.violate("I15", `run ${runId}: hooks report ${key} as live a second time`);
}

function hasEdit(edits: readonly { readonly key: string }[] = [], key: string): boolean {
  return edits.some((edit) => edit.key === key);
}
