/**
 * From a journal to an outcome: a run is admitted, driven to its next stop by an execution of its code, and its outcome read.
 * Each drive reads the journal once, then takes the lease, then reads the entries that came in between.
 */

import { decode } from "../values/codec/decode.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Definition } from "../engine/definition.ts";
import type { ChildRun, Children, SpawnRequest } from "../engine/child-runs.ts";
import type { AdvanceOptions, OnReplayEnd, Stop } from "../engine/stop.ts";
import type { Fact, SpawnedBy } from "../journal/entry.ts";
import { DurableError, describeError, show } from "../values/errors.ts";
import { admit, caller, driverOf, leftAlone, waitingCaller, type Driven, type Driver } from "./admit.ts";
import { acquire, create, isChild, type LeasedRun } from "./create.ts";
import type { Host } from "./host.ts";
import { isRegression } from "../journal/errors.ts";
import { RunJournal } from "../journal/journal.ts";
import { assertRunId, childIdOf, locatorOf } from "../journal/keys.ts";
import { Execution } from "./execution.ts";
import { definitionOf, notFound, openJournal, openRun, outcomeWithChildren, readerOf } from "./lookup.ts";
import { assertOptions } from "../values/options.ts";
import { outcomeOf, runningOutcome, type Outcome } from "../journal/outcome.ts";
import { asPaused } from "./pauses.ts";
import { codeOf } from "./replay.ts";
import { poisoned } from "./suspects.ts";
import { cancel, revive, spawnedOf, type CancelOptions } from "./tree.ts";

/** Drives a run to its next stop, unless it has ended or another process drives it. */
export async function advance(
  host: Host,
  definition: Definition,
  run: RunJournal | LeasedRun,
  driver: Driver = waitingCaller,
): Promise<Outcome<unknown>> {
  return outcomeOfDriven(host, await drive(host, definition, run, driver));
}

/** The same, for those that do not need the outcome. */
async function drive(
  host: Host,
  definition: Definition,
  run: RunJournal | LeasedRun,
  driver: Driver,
): Promise<Driven> {
  const journal = run instanceof RunJournal ? run : run.journal;
  const user = host.parked.user(journal);
  try {
    if ("rests" in run && run.rests) {
      const pause = await host.pauses?.of(definition.name);
      return { kind: "left", journal, recorded: false, ...(pause && { pause }) };
    }
    const admitted = await admit({ host, definition, journal, driver }, run);
    if (admitted.kind === "stop") return admitted.driven;
    const { leased } = admitted;
    const { lease, owned } = leased;
    if (!owned && lease.full && !driver.waits) driveOnceFree(host, definition, journal, driver);
    if (journal.state.end !== null) {
      await lease.release();
      return { kind: "left", journal, recorded: true };
    }
    if (!owned && journal.state.paused === null) return { kind: "running", journal };
    const left = await leftAlone(host, definition, leased, driver);
    if (left !== null) return left;
    await recordLoss(host, leased);
    if (journal.lost) {
      // Another driver came and went before this lease: its entries need an execution of their own (parked.3).
      host.parked.take(journal);
      await lease.release();
      return await drive(host, definition, await openRun(host, journal.runId), driver);
    }
    if (isPoison(leased, driver))
      return { kind: "poison", outcome: await poisoned(host, leased, journal.runId, driver) };
    const stop = await toNextStop(host, definition, leased, { driver });
    // The storage has lost what the code has seen: it begins anew, from what is left.
    if (stop.kind === "blocked" && owned && isRegression(stop.error))
      return await drive(host, definition, await openRun(host, journal.runId), driver);
    // A worker finds the parent itself, and counts it as one of its runs.
    if (journal.state.end !== null && driver.role === "caller") wakeParent(host, journal);
    return { kind: "stopped", journal, stop };
  } finally {
    host.parked.checkIn(journal, user);
  }
}

/** Before a run is driven; its lease is given back if that fails. */
export async function recordLoss(host: Host, leased: LeasedRun): Promise<void> {
  try {
    await host.lost.record(leased);
  } catch (error) {
    await leased.lease.release();
    throw error;
  }
}

async function outcomeOfDriven(host: Host, driven: Driven): Promise<Outcome<unknown>> {
  switch (driven.kind) {
    case "stopped":
      return outcomeAfter(host, driven.journal, driven.stop);
    case "left": {
      const outcome = await outcomeWithChildren(host, driven.journal, driven.recorded);
      return driven.pause === undefined ? outcome : asPaused(outcome, driven.pause);
    }
    case "running":
      return runningOutcome(driven.journal, await readerOf(host, driven.journal));
    case "poison":
      return driven.outcome;
  }
}

/** Started too often without progress. */
function isPoison({ starts }: LeasedRun, { maxStarts = Infinity }: AdvanceOptions): boolean {
  return starts > maxStarts;
}

const waiting = new WeakMap<Host, Set<string>>();

/**
 * A child that has no slot, and whose parent is driven by a caller: no worker would drive it. The parent parks meanwhile,
 * so that a child of the same workflow can have its slot.
 */
function driveOnceFree(
  host: Host,
  definition: Definition,
  { runId, childOf }: RunJournal,
  { role }: Driver,
): void {
  const runs = waiting.get(host) ?? new Set();
  waiting.set(host, runs);
  if (childOf === undefined || role === "worker" || runs.has(runId)) return;
  runs.add(runId);
  host.background(
    `run ${runId}`,
    openRun(host, runId)
      .then((run) => drive(host, definition, run, waitingCaller))
      .finally(() => runs.delete(runId)),
  );
}

/** Advances the run with this id. */
export async function advanceRun(
  host: Host,
  runId: string,
  options: AdvanceOptions = {},
): Promise<Outcome<unknown>> {
  assertOptions(options, "patience signal maxStarts alone versions hooks", "app.advance");
  assertRunId(runId);
  const driver = driverOf(options);
  const locator = locatorOf(runId);
  const parked = await host.parked.checkOut(locator);
  if (parked !== null) return advance(host, definitionOf(host, parked), parked, driver);
  // The lease comes first: a journal that kills the process that reads it counts as started, too.
  const journal = (await host.recent.take(locator)) ?? new RunJournal(locator, await host.journals());
  const leased = await acquire(host, journal, options.maxStarts);
  const { lease } = leased;
  if (isPoison(leased, driver)) return poisoned(host, leased, runId, driver);
  try {
    if (!journal.exists) throw notFound(runId);
    return await advance(host, definitionOf(host, journal), leased, driver);
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
  { onReplayEnd, driver = caller }: { onReplayEnd?: OnReplayEnd; driver?: Driver } = {},
): Promise<Stop> {
  const { journal, owned } = leased;
  const observe = owned ? await host.observing(driver.hooks) : undefined;
  const parked = host.parked.take(journal);
  const anew = (): Promise<Execution> =>
    Execution.begin(host, definition, leased, {
      drive: (child, by) => advanceChild(host, journal, child, by),
      spawn: (request, by) => spawnRun(host, journal, request, by),
      wake: (runId) => wake(host, runId, driver),
    });
  const execution = parked?.definition === definition && owned ? parked : await anew();
  let stop = await execution.drive({ onReplayEnd, driver, observe });
  // The next chapter is driven under the same lease.
  while (stop.kind === "continued") stop = await (await anew()).drive({ driver, observe });
  return stop;
}

/** Creates a child run if it is missing, and advances it. */
async function advanceChild(
  host: Host,
  parent: RunJournal,
  child: ChildRun,
  by: Driver,
): ReturnType<Children["drive"]> {
  // A child goes with the run that waits for it.
  const driver = { ...by, versions: undefined, waits: false };
  const { runId, definition, input, childOf, life, budgets } = child;
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
  const { scope } = parent.state.summary;
  const given = { id: runId, childOf, scope, budgets, takeLease: true };
  const run = known ?? (await create(host, definition, decode(input, `input of run ${runId}`), given));
  const outcome = await advance(host, definition, run, driver);
  const { unneeded } = (run instanceof RunJournal ? run : run.journal).state;
  if (outcome.status !== "cancelled" || unneeded === null) return outcome;
  return unneeded < life ? "lost" : "ending";
}

/** A child has ended and reported it: its parent continues. */
export function wakeParent(host: Host, { childOf }: RunJournal): void {
  if (childOf !== undefined) wake(host, childOf.runId);
}

/**
 * Drives a run in the background, if its code is here and this process does not drive it yet. Once the worker that asks
 * for it stops, nothing begins.
 */
function wake(host: Host, runId: string, by: Driver = caller): void {
  if (host.driving.has(runId)) return;
  const begin = async (): Promise<void> => {
    const locator = locatorOf(runId);
    const run =
      (await host.parked.checkOut(locator)) ??
      (await host.recent.take(locator)) ??
      (await openJournal(host, locator));
    const definition = run === null ? null : await codeOf(host, run);
    if (run === null) return;
    if (definition === null) host.parked.checkIn(run, host.parked.user(run));
    else await drive(host, definition, run, driverOf({ signal: by.signal }));
  };
  host.background(`run ${runId}`, begin());
}

export async function outcomeAfter(host: Host, journal: RunJournal, stop: Stop): Promise<Outcome<unknown>> {
  if (stop.kind === "blocked") {
    const { error, since = host.world.now() } = stop;
    const { code, message } = error;
    journal.blocked = { code, message, since, length: journal.position };
    const outcome = outcomeOf(journal, await readerOf(host, journal), false);
    return outcome.status === "blocked" ? { ...outcome, error } : outcome;
  }
  const outcome = await outcomeWithChildren(host, journal, false);
  // The driver that took the run over may not have written yet: the journal then still ends with our own entry.
  return stop.kind === "lost" && outcome.status === "suspended"
    ? runningOutcome(journal, await readerOf(host, journal))
    : outcome;
}

// ---- runs that a run spawns ----

/** Errors that a further try would meet again. */
const final =
  "invalid-id invalid-input invalid-options input-mismatch limit not-serializable not-found run-exists";

/** The next entry of a spawn. Rejects when a further try may succeed. */
async function spawnRun(
  host: Host,
  parent: RunJournal,
  request: SpawnRequest,
  by: Driver,
): Promise<Fact<Json>> {
  const { key, after, where, declared: input, definition, opened } = request;
  const { id, ifExists, onParentEnd } = request.options;
  // The recorded id counts, also when the code gives another one by now.
  const recorded = spawnedOf(parent).find((entry) => entry.key === key);
  const child = recorded?.child ?? id ?? childIdOf(parent.runId, key, parent.nonce);
  const policy = onParentEnd === "cancel" ? ({ onParentEnd } as const) : {};
  if (!opened)
    return { kind: "spawn.opened", key, after, child, workflow: definition.name, input, ...policy };
  try {
    assertOneOf(where, "onParentEnd", onParentEnd, ["leave", "cancel"]);
    assertOneOf(where, "ifExists", ifExists, ["fail", "keep"]);
    const { scope } = parent.state.summary;
    const spawnedBy = { runId: parent.runId, key, ...policy };
    await recordSpawned(host, request, { id: child, spawnedBy, scope }, by);
    return { kind: "spawn.started", key, after, child };
  } catch (cause) {
    if (!DurableError.is(cause) || !final.split(" ").includes(cause.code)) throw cause;
    const message = `Could not start the run of ${where}: ${describeError(cause)}`;
    const error = new DurableError("step-failed", message, { cause, details: { key, runId: child } });
    return { kind: "spawn.failed", key, after, error: encodeThrown(error, `error of ${where}`) };
  }
}

function assertOneOf(where: string, name: string, given: unknown, words: readonly string[]): void {
  if (given === undefined || words.includes(given as string)) return;
  throw new DurableError(
    "invalid-options",
    `The ${where} got ${name}: ${show(given)}. Use ${words.map(show).join(" or ")}.`,
  );
}

/** Resolves when the run is durable. */
async function recordSpawned(
  host: Host,
  { definition, input, options, budgets }: SpawnRequest,
  run: { readonly id: string; readonly spawnedBy: SpawnedBy; readonly scope: string | undefined },
  { role }: Driver,
): Promise<void> {
  // The run is due at once, and this worker or another one takes it.
  const takeLease = role === "caller" || host.find(definition.name) === null;
  const given = decode(input, `input of run ${run.id}`);
  try {
    const leased = await create(host, definition, given, { ...run, budgets, isNew: true, takeLease });
    if (leased.created) {
      if (takeLease) host.background(`run ${run.id}`, drive(host, definition, leased, waitingCaller));
      return;
    }
    // Another run has the id, with the same input.
    if (leased.owned) await leased.lease.release();
  } catch (error) {
    if (!DurableError.is(error, "run-exists") && !DurableError.is(error, "input-mismatch")) throw error;
  }
  const { spawnedBy, state } = await openRun(host, run.id);
  // An earlier try may have recorded it. It is due, and any worker or sweep that finds it drives it.
  if (spawnedBy?.runId === run.spawnedBy.runId && spawnedBy.key === run.spawnedBy.key) return;
  const { workflow } = state.summary;
  const isSame = workflow === definition.name;
  if (options.ifExists === "keep" && isSame) return;
  throw new DurableError(
    "run-exists",
    `Run ${run.id} already exists, as a run of workflow "${workflow}". Choose another id${isSame ? ', or pass ifExists: "keep" to use that run' : ""}.`,
  );
}

/**
 * Ends a run from outside, then drives its parent, which was notified. A run that cleans up is driven, too, also when it was
 * cancelled before.
 */
export async function cancelRun(
  host: Host,
  journal: RunJournal,
  options: CancelOptions = {},
): Promise<Outcome<unknown>> {
  assertOptions(options, "reason force", `The cancel of run ${journal.runId}`);
  const woken = new Set<string>();
  const cleansUp = ({ runId }: RunJournal): void => {
    woken.add(runId);
    wake(host, runId);
  };
  const outcome = await cancel(host, journal, { ...options, cleansUp });
  if ("cancelling" in outcome && !woken.has(journal.runId)) wake(host, journal.runId);
  if (!outcome.recorded && journal.state.end !== null) wakeParent(host, journal);
  return outcome;
}
