/**
 * Checks on the outcomes and errors that callers get, and the list of runs that are blocked. Proven by the
 * planted bugs of `npm run sim:mutants`.
 */

import { DurableError, type Outcome } from "@durable/core";
import { hasNewInput } from "./input-checks.ts";
import { inProcess } from "./surroundings.ts";
import { isMigrated } from "./rename-checks.ts";
import { topOf, type RunLog } from "./run-log.ts";
import type { Cluster } from "./cluster.ts";

/** A run may be blocked only by changed code or by too many crashes, unless the storage forgot a batch. */
export function judgeOutcome(cluster: Cluster, outcome: Outcome<unknown>): void {
  const { history } = cluster;
  if (outcome.status !== "blocked") return;
  const { runId, error } = outcome;
  const run = history.run(runId);
  const expected = error.code === "poison" || isFinal(cluster, run, error);
  const lied = run === undefined || history.lineage(run).some(({ tainted }) => tainted);
  // A driver of a deleted run finds no journal.
  const gone = run?.deleted === true || history.runs.some((other) => other.runId === runId && other.deleted);
  if (error.code === "unhandled-rejection") history.meet("a run blocked by its own rejection");
  if (error.code === "foreign-await") history.meet("a run blocked by a foreign await");
  if (error.code === "diverged" && !history.codeChanges) history.meet("a fork that does not fit its input");
  if (isMisfit(cluster, run, error)) history.violate("I8", `run ${runId} is blocked: ${error.message}`);
  if (!expected && !lied && !gone) history.violate("I8", `run ${runId} is blocked: ${error.message}`);
  noteBlocked(cluster, runId, error);
}

/** Code that gives the old names of its waits fits the runs of the first version. */
function isMisfit({ history, programs }: Cluster, run: RunLog | undefined, error: DurableError): boolean {
  if (run === undefined || error.code !== "diverged" || run.tainted || run.deleted) return false;
  const { compatible = false } = programs.find(({ name }) => name === run.workflow) ?? {};
  return compatible && run.parent === null && isMigrated(history, run) && !isUnsaid(programs, run, error);
}

/**
 * Changed code does not fit every record, and neither does another input. A foreign await may make keys
 * ambiguous: both calls of a name are open, or each gets what the other recorded.
 */
function isFinal({ history, programs }: Cluster, run: RunLog | undefined, error: unknown): boolean {
  if (DurableError.is(error, "foreign-await")) return history.foreign;
  if (DurableError.is(error, "unhandled-rejection")) return history.strayed.has(run?.runId ?? "");
  if (!DurableError.is(error, "diverged")) return false;
  if (run !== undefined && isUnsaid(programs, run, error)) return true;
  if (programs.some(({ name, swaps }) => name === run?.workflow && swaps)) return true;
  return history.codeChanges || (run !== undefined && hasNewInput(history, run));
}

/** A run that is undone waits for a foreign await as long as for running work; after a longer one the code has not said how. */
function isUnsaid(programs: Cluster["programs"], { workflow }: RunLog, error: DurableError): boolean {
  const { foreignMs = 0 } = programs.find(({ name }) => name === workflow) ?? {};
  return foreignMs > 4_000 && error.message.includes(" is to be undone");
}

/** Notes a run that is blocked for good. After faults have ended, that counts as an end. */
export function noteBlocked(cluster: Cluster, runId: string, error: unknown): void {
  const { history, network } = cluster;
  if (!network.healed) return;
  const killer = history.run(runId)?.workflow === "killer";
  if (DurableError.is(error, "poison") && !killer) {
    // The run met too many crashes of other runs. An operator inspects it and then advances it.
    history.meet("a run blocked by crashes of others");
    advanceAsOperator(cluster, runId);
  } else if (DurableError.is(error, "poison") || isFinal(cluster, history.run(runId), error)) {
    history.blocked.add(runId);
  }
}

const mostTries = 50;

/** A run that waits for an answer and was blocked by other code stays so until an operator advances it. */
export function retryBlocked(cluster: Cluster, runId: string): void {
  const { history, network } = cluster;
  if (!network.healed || history.blocked.has(runId)) return;
  // A drive that the code itself began, after a foreign await, may have met the rejection: no caller gets its outcome.
  if (history.strayed.has(runId)) return void history.blocked.add(runId);
  // So may every drive of code with foreign awaits: after some of them, no other will go on either.
  const tries = (history.readvanced.get(runId) ?? 0) + 1;
  history.readvanced.set(runId, tries);
  if (history.foreign && tries > mostTries) return void history.blocked.add(runId);
  history.meet("a blocked run that was advanced");
  advanceAsOperator(cluster, runId);
}

function advanceAsOperator(cluster: Cluster, runId: string): void {
  const operator = cluster.lives.at(-1);
  if (operator === undefined) return;
  void inProcess(operator.process.name, () => operator.app.advance(runId))
    .then((outcome) => judgeOutcome(cluster, outcome))
    .catch((failure: unknown) => judgeFailure(cluster, "operator", failure));
}

/**
 * For a child that its parent drives, only a warning says that it is blocked. After crashes, its parent is advanced.
 */
export function noteWarning(cluster: Cluster, message: string): void {
  const { history, network } = cluster;
  // A parent that checks its child again and again keeps others from finding out that the child is blocked.
  const [, child = ""] = /^child .* is blocked: Run (\S+) does not fit this code/.exec(message) ?? [];
  if (child !== "") return noteBlocked(cluster, child, new DurableError("diverged", message));
  const [, parent = ""] = /of run (\S+) is blocked: .* without progress/.exec(message) ?? [];
  const run = history.run(parent);
  if (!network.healed || run === undefined) return;
  history.meet("a run blocked by crashes of others");
  advanceAsOperator(cluster, topOf(run).runId);
}

/**
 * Law 8: the library resolves appends of unknown outcome, so callers see only its own errors or those of the
 * network.
 */
export function judgeFailure({ history }: Cluster, who: string, error: unknown): void {
  history.say(who, String(error));
  if (DurableError.is(error)) return;
  const text = error instanceof Error ? error.message : String(error);
  if (!text.startsWith("The connection was lost")) history.violate("I11", `${who} got ${text}`);
  if (text.endsWith("during append."))
    history.violate("I8", `${who} got the error of an append that was not resolved`);
}
