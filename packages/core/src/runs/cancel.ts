/**
 * Cancels runs, and the runs below them.
 *
 * cancel.1. Children are cancelled first. The cancellation of the parent is appended only if no child was opened since, so
 *     at that moment all its children have ended.
 *     A child that cleans up has not ended, but its cancellation is recorded.
 * cancel.2. A child that has not started is cancelled by its first batch, so a process that starts it later finds it ended.
 * cancel.3. A run with something to clean up or to undo is not ended from outside: `run.cancelling` is appended, and a
 *     driver ends it. Any other run is ended by the append, and a second cancel changes nothing.
 */

import { writeFact } from "../journal/fact-text.ts";
import type { Json } from "../values/codec/tags.ts";
import type { UnneededChild } from "../engine/child-runs.ts";
import type { Fact, Leftovers } from "../journal/entry.ts";
import { DurableError } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { isDeleted } from "../journal/errors.ts";
import { RunJournal } from "../journal/journal.ts";
import { locatorOf } from "../journal/keys.ts";
import { leaveLine } from "./leave-line.ts";
import { newNonce, openJournal } from "./lookup.ts";
import type { Outcome } from "../journal/outcome.ts";
import { scrub } from "../values/scrub.ts";
import { reportToParent } from "./parent.ts";
import { endSpawned as endThose } from "./spawn.ts";
import { outcomeWithChildren } from "./status.ts";

/** Options of `cancel`. */
export interface CancelOptions {
  /** Ends the run at once, without clean-up and compensation. */
  readonly force?: boolean | undefined;
}

/** How a run is ended from outside. */
interface Ends extends CancelOptions {
  readonly reason: string;
  /** The run above gets no report: its life, in which it ends or does not need the run. */
  readonly unneeded?: number;
  /** Called for each run that now cleans up. */
  readonly cleansUp: (journal: RunJournal) => void;
}

/** Cancels a run and all runs below it. `cleansUp` is called for those that need a driver. */
export async function cancel(
  host: Host,
  journal: RunJournal,
  ends: Omit<Ends, "unneeded">,
): Promise<Outcome<unknown>> {
  const before = journal.state.end;
  if (before === null && !cleansUp(journal, ends))
    await reportToParent(host, journal, { kind: "run.cancelled", reason: reasonFact(ends) });
  await end(host, journal, ends);
  return outcomeWithChildren(host, journal, before !== null);
}

function reasonFact({ reason }: Ends): string | null {
  return scrub(reason) || null;
}

function cleansUp({ state }: RunJournal, { force = false }: Ends): boolean {
  return !force && state.undoable.size > 0;
}

export async function end(host: Host, journal: RunJournal, ends: Ends): Promise<void> {
  const { force = false, unneeded } = ends;
  // The hooks of a run that is driven are called by its driver.
  const isParked = journal.state.summary.status === "suspended";
  const isOpen = (): boolean => journal.state.end === null && (force || !journal.state.undone);
  while (isOpen()) {
    for (const { opened } of journal.state.openChildren()) {
      const { child, workflow, key, after } = opened;
      const link = { childOf: { runId: journal.runId, key, after } };
      await cancelChild(host, { runId: child, workflow, link, life: journal.state.life }, ends);
    }
    const reason = reasonFact(ends);
    const undoes = cleansUp(journal, ends);
    if (!undoes) await endSpawned(host, journal, ends);
    const mark = unneeded === undefined ? {} : { unneeded };
    const fact: Fact<Json> = undoes
      ? { kind: "run.cancelling", reason, ...mark }
      : { kind: "run.cancelled", reason, ...mark, ...leftBehind(journal) };
    const written = writeFact(fact, host.world.now());
    // Only an end takes the lease away: a driver that is alive cleans up.
    const appended = await journal.append([written], { outside: true, ...(undoes ? {} : { lease: null }) });
    if (undoes && appended.kind === "landed") ends.cleansUp(journal);
    if (!undoes && appended.kind === "landed") await leaveLine(host, journal);
  }
  if (isParked && journal.state.end !== null)
    void host.observing().then((observe) => observe?.(journal).ended());
}

/** The steps that an end by force leaves as they are. */
function leftBehind({ state, entries }: RunJournal): Pick<Leftovers, "uncompensated"> {
  const undone = new Set(entries.map((entry) => (entry.kind === "step.completed" ? entry.key : "")));
  const left = [...state.undoable].filter(
    ([key, { call }]) => call === "step" && !undone.has(`${key}/compensate`),
  );
  return left.length === 0 ? {} : { uncompensated: left.map(([key]) => key) };
}

/** Cancels the runs that a run has spawned to end with it, before its own end is recorded. */
export async function endSpawned(
  host: Host,
  journal: RunJournal,
  ends: Pick<Ends, "force" | "cleansUp">,
): Promise<void> {
  if (!journal.state.endsSpawned) return;
  const verbs = {
    cancelChild: (on: Host, child: UnneededChild) => cancelChild(on, child, ends),
    end: (on: Host, run: RunJournal, reason: string) =>
      end(on, run, { ...ends, reason, unneeded: journal.state.life }),
  };
  await endThose(host, journal, verbs);
}

/** Cancels the children that a run has left open, before its failure is recorded: their results are not needed. */
export async function endChildren(
  host: Host,
  journal: RunJournal,
  ends: Pick<Ends, "cleansUp">,
): Promise<void> {
  const { runId, state } = journal;
  const children = state.openChildren().map(({ opened: { child, workflow, key, after } }) => {
    const link = { childOf: { runId, key, after } };
    return cancelChild(host, { runId: child, workflow, link, life: state.life }, ends);
  });
  await Promise.all(children);
}

/** Cancels a child without a report to its parent, which is ending too or no longer needs the child. */
export async function cancelChild(
  host: Host,
  child: UnneededChild,
  given: Pick<Ends, "force" | "cleansUp"> & Partial<Ends>,
): Promise<void> {
  const { runId, workflow, link, life } = child;
  const above = "childOf" in link ? link.childOf : link.spawnedBy;
  const notNeeded = `Run ${above.runId} does not need it any more.`;
  const { reason = notNeeded } = given.force === true ? given : {};
  const ends: Ends = { ...given, reason, unneeded: life };
  const journal = await openJournal(host, locatorOf(runId));
  // Another run may have the id that was given to a spawned one.
  if (journal !== null && "spawnedBy" in link && journal.spawnedBy?.runId !== above.runId) return;
  if (journal !== null) return end(host, journal, ends).catch(unlessDeleted);
  const unborn = new RunJournal(locatorOf(runId), await host.journals());
  const facts: Fact<Json>[] = [
    {
      kind: "run.started",
      runId,
      workflow,
      version: null,
      input: null,
      ...link,
      nonce: newNonce(host.world, runId),
    },
    { kind: "run.cancelled", reason, unneeded: life },
  ];
  try {
    await unborn.append(
      facts.map((fact) => writeFact(fact, host.world.now())),
      { outside: true, lease: null },
    );
  } catch (error) {
    // The child was deleted, so it will never start.
    return unlessDeleted(error);
  }
  // If another process has started the child in the meantime, it is cancelled like any other run.
  await end(host, unborn, ends).catch(unlessDeleted);
}

/** A run that was deleted needs no end. */
function unlessDeleted(error: unknown): void {
  if (!DurableError.is(error, "conflict") && !isDeleted(error)) throw error;
}
