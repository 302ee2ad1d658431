/**
 * A run and the runs below it: cancels and deletes them, reports the end of a child to its parent, and takes a cancellation
 * back that a retry of the run above makes void.
 *
 * cancel.1. Children are cancelled first. The cancellation of the parent is appended only if no child was opened since, so
 *     at that moment all its children have ended.
 *     A child that cleans up has not ended, but its cancellation is recorded.
 * cancel.2. A child that has not started is cancelled by its first batch, so a process that starts it later finds it ended.
 * cancel.3. A run with something to clean up or to undo is not ended from outside: `run.cancelling` is appended, and a
 *     driver ends it. Any other run is ended by the append, and a second cancel changes nothing.
 * revive.1. Only a cancellation by an earlier life of the run above is taken back: each retry begins the next life. Without
 *     that mark a run was cancelled for itself, and stays so.
 * revive.2. A run that goes on keeps its id, its tokens and its recorded work. One that was undone, or cancelled before it
 *     began, cannot go on.
 */

import { writeFact } from "../journal/batch.ts";
import type { Json } from "../values/codec/tags.ts";
import type { UnneededChild, ChildEnd } from "../engine/child-runs.ts";
import type { Entry, Fact, Leftovers } from "../journal/entry.ts";
import { DurableError } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { isDeleted } from "../journal/errors.ts";
import { RunJournal } from "../journal/journal.ts";
import { locatorOf, assertRunId } from "../journal/keys.ts";
import { leaveLine } from "./rate.ts";
import { newNonce, openJournal, outcomeWithChildren, notFound } from "./lookup.ts";
import { type Outcome, cancelledError, reasonOf, runError } from "../journal/outcome.ts";
import { scrub } from "../values/scrub.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import { beyondEnd, hasEnded } from "../ports/storage-kit.ts";
import type { RunHead } from "../ports/storage.ts";
import { headsBelow } from "./list.ts";

/** Options of `cancel`. */
export interface CancelOptions {
  /** Why, for people: the outcome and the journal have it. */
  readonly reason?: string | undefined;
  /** Ends the run at once, without clean-up and compensation. */
  readonly force?: boolean | undefined;
}

/** How a run is ended from outside. */
interface Ends extends CancelOptions {
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
  return scrub(reason ?? "") || null;
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
  const { runId, state } = journal;
  for (const { child, workflow, key, onParentEnd } of spawnedOf(journal)) {
    if (onParentEnd === undefined) continue;
    const link = { spawnedBy: { runId, key, onParentEnd } } as const;
    await cancelChild(host, { runId: child, workflow, link, life: state.life }, ends);
  }
  // Runs that earlier chapters spawned are found by their link.
  if (journal.chapter === 1) return;
  for (const { locator } of (await headsBelow(host, runId)).values()) {
    const run = await openJournal(host, locator);
    const { spawnedBy } = run ?? {};
    if (run !== null && spawnedBy?.runId === runId && spawnedBy.onParentEnd !== undefined)
      await end(host, run, { ...ends, reason: `Run ${runId} has ended.`, unneeded: state.life });
  }
}

/** The spawns that this run has recorded itself in its current chapter: what a fork has inherited is not its own. */
export function spawnedOf({ entries, first }: RunJournal): (Entry & { readonly kind: "spawn.opened" })[] {
  return entries.filter((entry) => entry.kind === "spawn.opened" && entry.seq > first.seq) as never;
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
  if (journal !== null) {
    try {
      return await end(host, journal, ends);
    } catch (error) {
      unlessDeleted(error);
    }
    // It was deleted meanwhile, and a driver of the run above may start it anew.
    return cancelChild(host, child, given);
  }
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

/** Writes the end of a child into its parent's journal, if the parent still waits for it. */
export async function reportToParent(
  host: Host,
  { runId, childOf, state }: RunJournal,
  end: Fact<Json>,
): Promise<void> {
  const { undoing } = state;
  if (childOf === undefined || (undoing?.kind === "run.cancelling" && undoing.unneeded !== undefined)) return;
  const { key, after } = childOf;
  const childEnd: ChildEnd =
    end.kind === "run.completed"
      ? { kind: "child.completed", key, after, value: end.output }
      : { kind: "child.failed", key, after, error: errorOf(runId, end) };
  // A parent that this process drives adds the report to its next write.
  if ((await host.driving.get(childOf.runId)?.reportEnd(childEnd, runId)) === true) return;
  const locator = locatorOf(childOf.runId);
  const parked = await host.parked.checkOut(locator);
  const parent = parked ?? (await host.recent.take(locator)) ?? (await openJournal(host, locator));
  if (parent === null) return;
  const user = host.parked.user(parent);
  try {
    for (let child; parent.state.end === null;) {
      child = parent.state.children.get(key);
      if (child === undefined || child.over || child.opened.child !== runId) return;
      await parent.append([writeFact(childEnd, host.world.now())], { outside: true });
    }
  } finally {
    host.parked.checkIn(parent, user);
    // The parent is driven next, or another child ends.
    if (parked === null) host.recent.keep(parent);
  }
}

/** What the parent gets as the error of a child that failed or was cancelled. */
function errorOf(runId: string, end: Fact<Json>): Json {
  const where = `end of run ${runId}`;
  if (end.kind === "run.failed")
    return end.uncompensated === undefined ? end.error : encodeThrown(runError(runId, end), where);
  if (end.kind !== "run.cancelled") return null;
  const { reason, uncompensated } = end;
  const about = { ...reasonOf(reason), ...(uncompensated === undefined ? {} : { uncompensated }) };
  return encodeThrown(cancelledError(runId, about), where);
}

/** Deletes the run with this id. Its journal is read only if that is needed: a fork would read all its ancestors. */
export async function deleteById(host: Host, runId: string): Promise<void> {
  assertRunId(runId);
  const locator = locatorOf(runId);
  const { length, deleted = false, head } = await (await host.storage()).read(locator, beyondEnd);
  if (length === 0 || deleted) throw notFound(runId);
  await deleteRun(host, { runId, locator, isUsed: head === undefined || isUsed(head) });
}

/** A run may have a driver, or wait to begin with a turn of a rate. */
function isUsed(head: Pick<RunHead, "status" | "flow">): boolean {
  return head.status === "running" || (!hasEnded(head) && head.flow?.startAt !== undefined);
}

/**
 * Removes a run and its children, and ends the runs that it has spawned to end with it. All are ended first, so that none
 * goes on if this stops half-way, drivers stop as soon as after a cancel, and none of them opens another child.
 */
async function deleteRun(
  host: Host,
  run: Pick<RunJournal, "runId" | "locator"> & { readonly isUsed: boolean },
): Promise<void> {
  const { runId, locator } = run;
  const open = run.isUsed || (await unforkedBelow(host, runId)).length > 0;
  const journal = open ? await openJournal(host, locator) : null;
  const ends = { reason: `Run ${runId} was deleted.`, force: true, cleansUp: () => {} };
  if (journal !== null) await end(host, journal, ends);
  const below = open ? await runsBelow(host, runId) : [];
  const children = below.filter(({ childOf }) => childOf !== undefined);
  const spawned = below.filter(({ spawnedBy }) => spawnedBy?.onParentEnd !== undefined);
  const life = journal === null ? {} : { unneeded: journal.state.life };
  for (const each of [...children, ...spawned]) await end(host, each, { ...ends, ...life });
  await (await host.storage()).delete(locator);
  for (const child of children)
    await deleteRun(host, {
      runId: child.runId,
      locator: child.locator,
      isUsed: isUsed(child.state.summary),
    });
}

/** Forks have the same parent, and are left out. */
async function unforkedBelow(host: Host, runId: string): Promise<RunHead[]> {
  return [...(await headsBelow(host, runId)).values()].filter(({ ancestors }) => ancestors.length === 0);
}

/** All children and spawned runs of a run, also of its earlier chapters. */
async function runsBelow(host: Host, runId: string): Promise<RunJournal[]> {
  const heads = await unforkedBelow(host, runId);
  const journals = await Promise.all(heads.map(({ locator }) => openJournal(host, locator)));
  return journals
    .filter((journal) => journal !== null)
    .filter(({ childOf, spawnedBy }) => (childOf ?? spawnedBy)?.runId === runId);
}

/** True when an earlier life of the run above has cancelled the run. */
function isOfEarlier({ state }: RunJournal, life: number): boolean {
  return (state.unneeded ?? Infinity) < life;
}

function canGoOn({ state, position }: RunJournal): boolean {
  return state.undoing === null && position > 1;
}

/** Takes back what an earlier life of the run above did to this one, if the run can go on. */
export async function revive(host: Host, journal: RunJournal, life: number): Promise<void> {
  while (isOfEarlier(journal, life) && canGoOn(journal)) {
    const now = host.world.now();
    const isLate = (journal.state.endsBy ?? Infinity) <= now;
    const fact = writeFact({ kind: "run.retried", ...(isLate && { deadline: null }) }, now);
    await journal.append([fact], { outside: true });
    await reviveSpawned(host, journal);
  }
}

/** The runs that this one has spawned to end with it, and that an earlier life of it has cancelled. */
async function endedSpawned(host: Host, { runId, state }: RunJournal, life: number): Promise<RunJournal[]> {
  if (!state.endsSpawned) return [];
  const found: RunJournal[] = [];
  for (const { locator } of (await headsBelow(host, runId)).values()) {
    const run = await openJournal(host, locator);
    if (run?.spawnedBy?.runId === runId && isOfEarlier(run, life)) found.push(run);
  }
  return found;
}

/** A spawned run that would not go on with this one; `null` when all would. */
export async function lostSpawned(host: Host, journal: RunJournal): Promise<string | null> {
  const ended = await endedSpawned(host, journal, Infinity);
  return ended.find((run) => !canGoOn(run))?.runId ?? null;
}

/** The spawned runs that ended with a run go on with it. Returns their ids. */
export async function reviveSpawned(host: Host, journal: RunJournal): Promise<string[]> {
  const { end, life } = journal.state;
  const ended = end === null ? await endedSpawned(host, journal, life) : [];
  for (const run of ended) await revive(host, run, life);
  return ended.map(({ runId }) => runId);
}
