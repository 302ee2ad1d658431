/** What callers are told of runs, and what that means for those that can go no further. */

import { DurableError, type Outcome } from "@durable/core";
import { topOf } from "./records.ts";
import type { Town } from "./town.ts";

/** A run is blocked by other code, or as one that kills; by nothing else, as long as the storage does not lie. */
export function judgeOutcome(town: Town, outcome: Outcome<unknown>): void {
  const { history } = town;
  if (outcome.status !== "blocked") return;
  const { runId, error } = outcome;
  const run = history.run(runId);
  const expected = error.code === "poison" || (error.code === "diverged" && history.codeChanges);
  const lied = run === undefined || history.lineage(run).some(({ tainted }) => tainted);
  // A driver of a run that was deleted finds its journal gone.
  const gone = run?.deleted === true || history.runs.some((other) => other.runId === runId && other.deleted);
  if (!expected && !lied && !gone) history.violate("I8", `run ${runId} is blocked: ${error.message}`);
  noteBlocked(town, runId, error);
}

/** Runs that only another code, or nobody, can go on with: once faults have ended, that is an end too. */
export function noteBlocked(town: Town, runId: string, error: unknown): void {
  const { history, network } = town;
  if (!network.healed) return;
  const killer = history.run(runId)?.workflow === "killer";
  if (DurableError.is(error, "poison") && !killer) {
    advanceByHand(town, runId);
  } else if (
    DurableError.is(error, "poison") ||
    (DurableError.is(error, "diverged") && history.codeChanges)
  ) {
    history.blocked.add(runId);
  }
}

/** It met too many crashes of others: a person who has looked at it advances it. */
function advanceByHand(town: Town, runId: string): void {
  town.history.meet("a run taken for a killer");
  void town.lives
    .at(-1)
    ?.app.advance(runId)
    .catch((failure: unknown) => judgeFailure(town, "hand", failure));
}

/** Of a child that no app has, only a warning says that it was taken for a killer: its parent is advanced. */
export function noteWarning(town: Town, message: string): void {
  const { history, network } = town;
  const [, parent = ""] = /of run (\S+) is blocked: .* without progress/.exec(message) ?? [];
  const run = history.run(parent);
  if (network.healed && run !== undefined) advanceByHand(town, topOf(run).runId);
}

/** Law 8: whether a batch landed is for the library to find out. And what it throws is its own, or the network's. */
export function judgeFailure({ history }: Town, who: string, error: unknown): void {
  history.say(who, String(error));
  if (DurableError.is(error)) return;
  const text = error instanceof Error ? error.message : String(error);
  if (!text.startsWith("The connection was lost")) history.violate("I11", `${who} was told ${text}`);
  if (text.endsWith("during append.")) history.violate("I8", `${who} was told of an append nobody settled`);
}
