/**
 * From a definition and a journal to an outcome, in four verbs: create, acquire, advance, replay.
 * Each advance reads the journal once, then takes the lease, then reads the entries that came in between.
 */

import type { CancelOptions } from "./cancel.ts";
import { decode } from "../values/codec/decode.ts";
import type { Definition } from "../engine/definition.ts";
import { ChildCall } from "../engine/calls/child.ts";
import type { ChildRun, Children } from "../engine/child-runs.ts";
import type { AdvanceOptions, OnReplayEnd, ReplayEnd, Stop } from "../engine/stop.ts";
import { DurableError } from "../values/errors.ts";
import { acquire, create, isChild } from "./create.ts";
import type { LeasedRun } from "./new-run.ts";
import type { Host } from "./host.ts";
import { RunJournal } from "../journal/journal.ts";
import { assertRunId, locatorOf } from "../journal/keys.ts";
import { Execution } from "./execution.ts";
import { definitionOf, notFound, openJournal, openRun } from "./lookup.ts";
import { assertOptions } from "../values/options.ts";
import { outcomeOf, type Outcome } from "../journal/outcome.ts";
import { pending } from "../engine/promise.ts";
import { outcomeWithChildren } from "./status.ts";
import { admit } from "./flow.ts";
import { cancel } from "./cancel.ts";
import { poisoned } from "./poison.ts";
import { revive } from "./revive.ts";
import { spawnRun } from "./spawn.ts";
import { otherVersion } from "./version.ts";

// ---- advance: drive to the next stop ----

/**
 * Drives a run to its next stop, unless it has ended or another process drives it. Without options, it waits while the
 * limits of the run do not admit it.
 */
export async function advance(
  host: Host,
  definition: Definition,
  run: RunJournal | LeasedRun,
  options?: AdvanceOptions,
): Promise<Outcome<unknown>> {
  return (await driven(host, definition, run, options))();
}

/** Started too often without progress. */
function isPoison({ starts }: Pick<LeasedRun, "starts">, { maxStarts = Infinity }: AdvanceOptions): boolean {
  return starts > maxStarts;
}

/** The same, for callers that may not need the outcome: it has the waits of all open children, and each is a read. */
async function driven(
  host: Host,
  definition: Definition,
  run: RunJournal | LeasedRun,
  given?: AdvanceOptions,
): Promise<() => Promise<Outcome<unknown>>> {
  const options = given ?? {};
  const journal = run instanceof RunJournal ? run : run.journal;
  const { runId } = journal;
  const user = host.parked.user(journal);
  try {
    const take = (): Promise<LeasedRun> => acquire(host, journal, options.maxStarts, definition);
    const leave = (leased: LeasedRun) => leaveAsIs(host, definition, leased, options);
    const isFree = definition.flow === undefined && journal.state.summary.flow === undefined;
    const leased = isFree
      ? await (run instanceof RunJournal ? take() : run)
      : await admit({ host, definition, journal, options: given, take, leave, advance }, run);
    if (typeof leased === "function") return leased;
    const { lease, owned } = leased;
    if (journal.state.end !== null) {
      await lease.release();
      return () => outcomeWithChildren(host, journal, true);
    }
    if (!owned && journal.state.paused === null)
      return async () => ({ runId, recorded: false, status: "running" });
    const left = await leave(leased);
    if (left !== null) return left;
    if (journal.lost) {
      // Another driver came and went before this lease: its entries need an execution of their own (parked.3).
      host.parked.take(journal);
      await lease.release();
      return await driven(host, definition, await openRun(host, runId), given);
    }
    if (isPoison(leased, options)) {
      const outcome = await poisoned(host, leased, runId, options);
      return async () => outcome;
    }
    const stop = await toNextStop(host, definition, leased, { options });
    // With a signal the caller is a worker, which finds the parent itself and counts it as one of its runs.
    if (journal.state.end !== null && options.signal === undefined) wakeParent(host, journal);
    return () => outcomeAfter(host, journal, stop);
  } finally {
    host.parked.checkIn(journal, user);
  }
}

/** Gives the lease of a run back that is paused, and tells how its outcome is read then; `null` for any other. */
async function leaveAsIs(
  host: Host,
  definition: Definition,
  { journal, lease }: LeasedRun,
  { versions }: AdvanceOptions,
): Promise<(() => Promise<Outcome<unknown>>) | null> {
  const now = (): Promise<Outcome<unknown>> => outcomeWithChildren(host, journal, false);
  if (journal.state.paused !== null) {
    await lease.release();
    return now;
  }
  if (versions?.includes(journal.first.version as string) === false) {
    // The start does not count.
    await lease.giveBack();
    throw otherVersion(journal, versions);
  }
  return (await host.pauses?.keeps(definition.name, lease, now)) ?? null;
}

/** Advances the run with this id. */
export async function advanceRun(
  host: Host,
  runId: string,
  options: AdvanceOptions = {},
): Promise<Outcome<unknown>> {
  assertOptions(options, "patience signal maxStarts alone versions hooks", "app.advance");
  assertRunId(runId);
  const locator = locatorOf(runId);
  const parked = await host.parked.checkOut(locator);
  if (parked !== null) return advance(host, definitionOf(host, parked), parked, options);
  // The lease comes first: a journal that kills the process that reads it counts as started, too.
  const journal = (await host.recent.take(locator)) ?? new RunJournal(locator, await host.journals());
  const leased = await acquire(host, journal, options.maxStarts);
  const { lease } = leased;
  if (isPoison(leased, options)) return poisoned(host, leased, runId, options);
  try {
    if (!journal.exists) throw notFound(runId);
    return await advance(host, definitionOf(host, journal), leased, options);
  } catch (error) {
    // A run of a workflow that is not known here was not started.
    if (lease.owned) await (DurableError.is(error, "unknown-workflow") ? lease.giveBack() : lease.release());
    throw error;
  }
}

/** Runs the function over its journal to the next stop: in the execution that is still in memory, or a new one. */
export async function toNextStop(
  host: Host,
  definition: Definition,
  leased: LeasedRun,
  { onReplayEnd, options = {} }: { onReplayEnd?: OnReplayEnd; options?: AdvanceOptions } = {},
): Promise<Stop> {
  const { journal, owned } = leased;
  const observe = owned ? await host.observing(options.hooks) : undefined;
  const parked = host.parked.take(journal);
  const anew = (): Promise<Execution> =>
    Execution.begin(host, definition, leased, {
      drive: (child, given) => advanceChild(host, child, given),
      spawn: async (request, { signal }) => spawnRun(host, journal, request, { signal, create, advance }),
      wake: (runId) => wake(host, runId, options.signal),
    });
  const execution = parked?.definition === definition && owned ? parked : await anew();
  let stop = await execution.drive({ onReplayEnd, options, observe });
  // The next chapter is driven under the same lease.
  while (stop.kind === "continued") stop = await (await anew()).drive({ options, observe });
  return stop;
}

/** Creates a child run if it is missing, and advances it. */
async function advanceChild(host: Host, child: ChildRun, by: AdvanceOptions): ReturnType<Children["drive"]> {
  // A child goes with the run that waits for it.
  const options = { ...by, versions: undefined };
  const { runId, definition, input, childOf, life } = child;
  const locator = locatorOf(runId);
  const journal = (await host.parked.checkOut(locator)) ?? (await openJournal(host, locator));
  const known = journal !== null && isChild(journal, childOf) ? journal : null;
  if (known !== null && known.state.unneeded !== null) {
    host.parked.take(known);
    await revive(host, known, life);
  }
  // Another run has the id of the child, and `create` refuses it.
  if (journal !== known && journal !== null) host.parked.checkIn(journal, host.parked.user(journal));
  if (journal === null && (await child.isNeeded?.()) === false) return "ending";
  const given = { id: runId, childOf, takeLease: true };
  const run = known ?? (await create(host, definition, decode(input, `input of run ${runId}`), given));
  const outcome = await advance(host, definition, run, options);
  const { unneeded } = (run instanceof RunJournal ? run : run.journal).state;
  if (outcome.status !== "cancelled" || unneeded === null) return outcome;
  return unneeded < life ? "lost" : "ending";
}

/** A child has ended and reported it: its parent continues. */
export function wakeParent(host: Host, { childOf }: RunJournal): void {
  if (childOf !== undefined) wake(host, childOf.runId);
}

/**
 * Drives a run in the background, if its code is here and this process does not drive it yet. A worker gives its signal: once
 * it stops, nothing begins.
 */
function wake(host: Host, runId: string, signal?: AbortSignal): void {
  if (host.driving.has(runId)) return;
  const drive = async (): Promise<void> => {
    const locator = locatorOf(runId);
    const run =
      (await host.parked.checkOut(locator)) ??
      (await host.recent.take(locator)) ??
      (await openJournal(host, locator));
    const definition = run === null ? null : await codeOf(host, run);
    if (run === null) return;
    if (definition === null) host.parked.checkIn(run, host.parked.user(run));
    else await driven(host, definition, run, { signal });
  };
  host.background(`run ${runId}`, drive());
}

export async function outcomeAfter(host: Host, journal: RunJournal, stop: Stop): Promise<Outcome<unknown>> {
  if (stop.kind === "blocked") {
    const { error, since = host.world.now() } = stop;
    const { code, message } = error;
    journal.blocked = { code, message, since, length: journal.position };
    const outcome = outcomeOf(journal, await host.keyring(), false);
    return outcome.status === "blocked" ? { ...outcome, error } : outcome;
  }
  const outcome = await outcomeWithChildren(host, journal, false);
  // The driver that took the run over may not have written yet: the journal then still ends with our own entry.
  return stop.kind === "lost" && outcome.status === "suspended"
    ? { runId: journal.runId, recorded: false, status: "running" }
    : outcome;
}

// ---- replay: run the code over a journal, and write nothing ----

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
    await inspect(replayEnd);
    return "leave";
  };
  return execution.drive({ onReplayEnd, options: {} });
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

/** Ends a run from outside, then drives its parent, which was notified. A run that cleans up is driven, too. */
export async function cancelRun(
  host: Host,
  journal: RunJournal,
  reason = "",
  options: CancelOptions = {},
): Promise<Outcome<unknown>> {
  assertOptions(options, "force", `The cancel of run ${journal.runId}`);
  const outcome = await cancel(host, journal, {
    reason,
    ...options,
    cleansUp: ({ runId }) => wake(host, runId),
  });
  if (!outcome.recorded && journal.state.end !== null) wakeParent(host, journal);
  return outcome;
}
