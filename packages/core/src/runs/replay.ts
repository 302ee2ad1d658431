/** Runs code over a journal, and writes nothing. */

import type { Definition } from "../engine/definition.ts";
import { ChildCall } from "../engine/calls/child.ts";
import { pending } from "../engine/promise.ts";
import type { OnReplayEnd, ReplayEnd, Stop } from "../engine/stop.ts";
import type { RunJournal } from "../journal/journal.ts";
import { locatorOf } from "../journal/keys.ts";
import { caller } from "./admit.ts";
import { Execution } from "./execution.ts";
import type { Host } from "./host.ts";
import { openJournal } from "./lookup.ts";

/** Runs the code over a journal without a lease, as far as the journal goes: no work starts, nothing is written. */
export async function replay(
  host: Host,
  definition: Definition,
  journal: RunJournal,
  inspect: (replayEnd: ReplayEnd) => void | Promise<void>,
): Promise<Stop> {
  const lease = await host.newLease();
  // Without a lease no child begins.
  const below = { drive: pending<never>, spawn: pending<never>, wake: () => {} };
  const execution = await Execution.begin(host, definition, { journal, lease }, below);
  const onReplayEnd: OnReplayEnd = async (replayEnd) => {
    if (replayEnd.preview()) return "again";
    await inspect(replayEnd);
    return "leave";
  };
  return execution.drive({ onReplayEnd, driver: caller });
}

/**
 * The code of a run: found by name, or by a replay of the parent, whose code calls the child. `null` when this
 * process has the code of no run above.
 */
export async function codeOf(host: Host, journal: RunJournal): Promise<Definition | null> {
  const known =
    host.find(journal.state.summary.workflow) ?? host.parked.checkedOut(journal)?.definition ?? null;
  const { childOf } = journal;
  if (known !== null || childOf === undefined) return known;
  const parent = await openJournal(host, locatorOf(childOf.runId));
  const above = parent === null ? null : await codeOf(host, parent);
  if (parent === null || above === null) return null;
  const found: { definition: Definition | null } = { definition: null };
  await replay(host, above, parent, ({ calls }) => {
    const call = calls.get(childOf.key);
    if (call instanceof ChildCall) found.definition = call.definition;
  });
  return found.definition;
}
