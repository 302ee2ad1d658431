/** The outcome of a run, including the waits of its children. */

import type { Host } from "./host.ts";
import { RunJournal } from "../journal/journal.ts";
import { locatorOf } from "../journal/keys.ts";
import { outcomeOf, type Outcome } from "../journal/outcome.ts";
import type { WorkflowPause } from "../ports/storage.ts";

/** The present outcome of a run. Waits of open children count as waits of the run. */
export async function outcomeWithChildren(
  host: Host,
  journal: RunJournal,
  recorded: boolean,
): Promise<Outcome<unknown>> {
  const outcome = outcomeOf(journal, await host.keyring(), recorded);
  const children = outcome.status === "suspended" ? journal.state.openChildren() : [];
  if (outcome.status !== "suspended" || children.length === 0) return outcome;
  const options = await host.journals();
  const below = children.map(async ({ opened: { key, child } }) => {
    const run = await RunJournal.open(locatorOf(child), options);
    // A child that is blocked still takes answers.
    if (run !== null) run.blocked = null;
    const inner = run === null ? null : await outcomeWithChildren(host, run, false);
    if (inner?.status !== "suspended") return [];
    return inner.waiting.map((point) => ({ ...point, key: `${key}/${point.key}` }));
  });
  return { ...outcome, waiting: [...outcome.waiting, ...(await Promise.all(below)).flat()] };
}

/** The outcome of a run whose workflow is paused; an end and a pause of the run itself say more. */
export function asPaused(
  outcome: Outcome<unknown>,
  { reason, since }: WorkflowPause,
): Outcome<unknown> {
  if (outcome.status !== "running" && outcome.status !== "suspended") return outcome;
  const { runId, recorded } = outcome;
  const waiting = outcome.status === "suspended" ? outcome.waiting : [];
  return { runId, recorded, status: "paused", reason, since, waiting };
}
