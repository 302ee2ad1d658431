/**
 * Starting, advancing and ending runs: the walk from a definition and a journal to an outcome.
 * One read per advance; the lease is taken after it, and a journal that moved in between is read on.
 */

import { writeFact } from "../journal/batch.ts";
import { cancel } from "./cancel.ts";
import { decode } from "../values/codec/decode.ts";
import { fingerprintOf } from "../values/codec/fingerprint.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Definition } from "../engine/definition.ts";
import { ChildCall } from "../engine/calls/child.ts";
import type { ChildRun } from "../engine/child-runs.ts";
import { DriverLease } from "../engine/lease.ts";
import type { AdvanceOptions, OnReplayEnd, ReplayEnd, Stop } from "../engine/options.ts";
import type { ChildOf } from "../journal/entry.ts";
import { DurableError } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { RunJournal } from "../journal/journal.ts";
import { incomplete } from "../journal/errors.ts";
import { assertRunId, locatorOf } from "../journal/keys.ts";
import { Execution } from "./execution.ts";
import { definitionOf, encodeInput, openJournal, openRun } from "./lookup.ts";
import type { Outcome } from "../journal/outcome.ts";
import { outcomeWithChildren } from "./status.ts";

/** A run with the grip this process has on it; `held` is false while somebody else drives it. */
export interface LeasedRun {
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  readonly owned: boolean;
  /** The run was recorded just now. */
  readonly created: boolean;
  /** Times a driver took the run since its journal last grew: one that keeps dying kills its drivers. */
  readonly starts: number;
}

export interface NewRun {
  readonly id?: string | undefined;
  readonly childOf?: ChildOf;
}

/** Records a new run with this process's grip on it, or takes hold of the one that has this id. */
export async function begin(
  host: Host,
  definition: Definition,
  input: unknown,
  newRun: NewRun = {},
): Promise<LeasedRun> {
  const recorded = await record(host, definition, input, { ...newRun, takeLease: true });
  return recorded.created ? recorded : acquireLease(host, recorded.journal);
}

/** Records a new run, or finds the one that has this id. Unclaimed it is due, and whoever looks for work finds it. */
export async function record(
  host: Host,
  definition: Definition,
  input: unknown,
  { id, childOf, takeLease }: NewRun & { readonly takeLease: boolean },
): Promise<LeasedRun> {
  const encoded = await encodeInput(definition, input);
  const runId = id ?? host.world.id();
  assertRunId(runId);
  const journals = await host.journals();
  const journal = RunJournal.create(runId, journals);
  const lease = new DriverLease({ ...journals, ttlMs: host.leaseMs });
  const { name: workflow, version } = definition;
  const started = { kind: "run.started", runId, workflow, version, input: encoded } as const;
  const fact = writeFact({ ...started, ...(childOf === undefined ? {} : { childOf }) }, host.world.now());
  const appended = await journal.append([fact], takeLease ? { lease: lease.leaseForNewRun(journal) } : {});
  const created = appended.kind === "landed";
  if (!created) assertSame(journal, definition, encoded);
  return { journal, lease, owned: created && takeLease, starts: 1, created };
}

function assertSame(journal: RunJournal, definition: Definition, input: Json): void {
  const { runId, workflow } = journal.state.summary;
  if (workflow !== definition.name) {
    throw new DurableError(
      "workflow-mismatch",
      `Run ${runId} belongs to workflow "${workflow}", not to "${definition.name}". Choose another id.`,
    );
  }
  if (fingerprintOf(journal.input) !== fingerprintOf(input)) {
    throw new DurableError(
      "input-mismatch",
      `Run ${runId} was started with another input. Use the same input, another id, or flow.fork("${runId}", { from, input }) to keep recorded work.`,
    );
  }
}

/** Takes the lease of an open journal, and reads on if it moved since. */
export async function acquireLease(host: Host, journal: RunJournal): Promise<LeasedRun> {
  const lease =
    host.parked.checkedOut(journal)?.lease ??
    new DriverLease({ ...(await host.journals()), ttlMs: host.leaseMs });
  const granted = journal.state.end === null ? await lease.acquire(journal) : null;
  if (granted === null) return { journal, lease, owned: false, starts: 0, created: false };
  if (granted.length !== journal.position) await journal.refresh();
  // A copy that lags behind would have recorded work done again.
  if (journal.position < granted.length) throw incomplete(journal.runId, journal.position, granted.length);
  return { journal, lease, owned: true, starts: granted.starts, created: false };
}

/** Drives a run on, unless it is over or driven elsewhere. */
export async function advance(
  host: Host,
  definition: Definition,
  leased: LeasedRun,
  options: AdvanceOptions = {},
): Promise<Outcome<unknown>> {
  const { journal, lease, owned, starts } = leased;
  const { runId } = journal;
  if (journal.state.end !== null) {
    await lease.release();
    return outcomeWithChildren(host, journal, true);
  }
  if (!owned) return { runId, recorded: false, status: "running" };
  if (starts > (options.maxStarts ?? Number.POSITIVE_INFINITY)) {
    await lease.abandon();
    return { runId, recorded: false, status: "blocked", error: poison(runId, starts) };
  }
  const outcome = await outcomeAfter(host, journal, await drive(host, definition, leased, { options }));
  // Whoever may be told to stop, a worker, finds the parent by itself, and in a place of its own.
  if (journal.state.end !== null && options.signal === undefined) wakeParent(host, journal);
  return outcome;
}

/** Drives the run of this id on. */
export async function advanceRun(
  host: Host,
  runId: string,
  options?: AdvanceOptions,
): Promise<Outcome<unknown>> {
  assertRunId(runId);
  const journal = (await host.parked.checkOut(locatorOf(runId))) ?? (await openRun(host, runId));
  return driveOn(host, definitionOf(host, journal), journal, options);
}

/** Drives a run whose journal is open. */
export async function driveOn(
  host: Host,
  definition: Definition,
  journal: RunJournal,
  options?: AdvanceOptions,
): Promise<Outcome<unknown>> {
  try {
    return await advance(host, definition, await acquireLease(host, journal), options);
  } finally {
    host.parked.checkIn(journal);
  }
}

/** A child that ended has told its parent; where its code is at hand, and nobody drives it here, it goes on now. */
export function wakeParent(host: Host, { childOf }: RunJournal): void {
  if (childOf === undefined || host.driving.has(childOf.runId)) return;
  const wake = async (): Promise<void> => {
    const locator = locatorOf(childOf.runId);
    const parent = (await host.parked.checkOut(locator)) ?? (await openJournal(host, locator));
    const definition = parent === null ? null : await codeOf(host, parent);
    if (parent === null) return;
    if (definition === null) host.parked.checkIn(parent);
    else await driveOn(host, definition, parent);
  };
  host.background(`run ${childOf.runId}`, wake());
}

/**
 * The code of a run: this process has it by name, or finds it where its parent's code calls it. For that the parent
 * is replayed, without a lease and no further than its journal goes; `null` when nobody above it is known either.
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

/** Runs the code over a journal, without a lease and no further than the journal goes: nothing begins or is written. */
export async function replay(
  host: Host,
  definition: Definition,
  journal: RunJournal,
  look: (replayEnd: ReplayEnd) => void | Promise<void>,
): Promise<Stop> {
  const lease = new DriverLease({ ...(await host.journals()), ttlMs: host.leaseMs });
  const execution = await Execution.begin(host, definition, { journal, lease }, () =>
    Promise.reject(unheld(journal)),
  );
  const onReplayEnd: OnReplayEnd = async (replayEnd) => {
    await look(replayEnd);
    return "leave";
  };
  return execution.drive({ onReplayEnd, options: {} });
}

function unheld({ runId }: RunJournal): DurableError {
  return new DurableError("conflict", `Run ${runId} is replayed here, and driven elsewhere.`);
}

/** Ends a run from outside; a parent that was told of it goes on. */
export async function cancelRun(host: Host, journal: RunJournal, reason?: string): Promise<Outcome<unknown>> {
  const outcome = await cancel(host, journal, reason);
  if (!outcome.recorded) wakeParent(host, journal);
  return outcome;
}

/** Creates a child run if it is not there, and drives it on. */
async function driveChild(host: Host, child: ChildRun, options: AdvanceOptions): Promise<Outcome<unknown>> {
  const { runId, definition, input, childOf } = child;
  const locator = locatorOf(runId);
  const journal = (await host.parked.checkOut(locator)) ?? (await openJournal(host, locator));
  if (journal !== null) return driveOn(host, definition, journal, options);
  const given = decode(input, `input of run ${runId}`);
  return advance(host, definition, await begin(host, definition, given, { id: runId, childOf }), options);
}

function poison(runId: string, starts: number): DurableError {
  return new DurableError(
    "poison",
    `Run ${runId} was taken up ${starts - 1} times without progress: it seems to kill its driver. Look at the step after its last entry, then advance it by hand.`,
  );
}

export async function outcomeAfter(host: Host, journal: RunJournal, stop: Stop): Promise<Outcome<unknown>> {
  if (stop.kind === "blocked")
    return { runId: journal.runId, recorded: false, status: "blocked", error: stop.error };
  const outcome = await outcomeWithChildren(host, journal, false);
  // Whoever took the run over may not have written yet: the journal then still shows our own last word.
  return stop.kind === "lost" && outcome.status === "suspended"
    ? { runId: journal.runId, recorded: false, status: "running" }
    : outcome;
}

/** Drives the function over its journal to its next stop: the life that is still warm, or a new one. */
export async function drive(
  host: Host,
  definition: Definition,
  leased: LeasedRun,
  { onReplayEnd, options = {} }: { onReplayEnd?: OnReplayEnd; options?: AdvanceOptions } = {},
): Promise<Stop> {
  const { journal, owned } = leased;
  const warm = host.parked.take(journal);
  const execution =
    warm?.definition === definition && owned
      ? warm
      : await Execution.begin(host, definition, leased, (child, given) => driveChild(host, child, given));
  return execution.drive({ onReplayEnd, options });
}
