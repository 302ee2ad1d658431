/** Records new runs, and takes the leases of runs that exist. */

import { writeFact } from "../journal/batch.ts";
import { fingerprintOf } from "../values/codec/fingerprint.ts";
import type { Json } from "../values/codec/tags.ts";
import { deadlineAt } from "../engine/deadline.ts";
import type { Definition } from "../engine/definition.ts";
import type { ChildOf, SpawnedBy, TreeBudget } from "../journal/entry.ts";
import { incomplete } from "../journal/errors.ts";
import { RunJournal } from "../journal/journal.ts";
import { assertRunId, locatorOf } from "../journal/keys.ts";
import { DurableError } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { defined } from "../values/options.ts";
import { encodeInput, newNonce } from "./lookup.ts";
import { flowOf, record } from "./flow.ts";
import { firstTags } from "./list.ts";
import type { DriverLease } from "../engine/lease.ts";
import type { Duration } from "../values/duration.ts";
import type { Tags } from "../values/run-tags.ts";

/** Records a new run, or finds the one with this id, and takes its lease if asked to. */
export async function create(
  host: Host,
  definition: Definition,
  input: unknown,
  given: NewRun,
): Promise<LeasedRun> {
  const { id, childOf, spawnedBy, takeLease, start } = given;
  const encoded = await encodeInput(definition, input);
  const tags = (definition.tags ?? given.tags) && firstTags(definition, encoded, given.tags);
  const runId = id ?? host.world.id();
  assertRunId(runId);
  const journal = new RunJournal(locatorOf(runId), await host.journals());
  const lease = await host.newLease();
  const { name: workflow, version } = definition;
  const isLimited = definition.flow !== undefined || start !== undefined;
  const ends = deadlineAt(host, given.deadline ?? definition.defaults.deadline);
  const { scope, mayJoin } = given;
  const flow = isLimited ? await flowOf(host, definition, encoded, { ...start, ...ends, scope }) : undefined;
  const started = {
    kind: "run.started",
    runId,
    workflow,
    version,
    input: encoded,
    nonce: newNonce(host.world, runId),
    ...defined({ childOf, flow, spawnedBy, scope, schedule: given.schedule, eval: given.eval }),
    ...(tags === undefined || Object.keys(tags).length === 0 ? {} : { tags }),
    ...(given.budgets === undefined || given.budgets.length === 0 ? {} : { budgets: given.budgets }),
    ...ends,
  } as const;
  const append = async (leases: boolean): Promise<boolean> => {
    const fact = writeFact(started, host.world.now());
    const appended = await journal.append([fact], leases ? { lease: lease.leaseForNewRun(journal) } : {});
    const isNew = appended.kind === "landed";
    if (!isNew) assertSame(journal, definition, encoded, given);
    return isNew;
  };
  // A run with limits takes its lease when it is admitted.
  if (isLimited) {
    const found = await record(host, { journal, lease, started, mayJoin }, () => append(false));
    return { ...found, rests: await rests(host, found.journal) };
  }
  const created = await append(takeLease);
  const isLeft = await rests(host, journal);
  return created || !takeLease || isLeft
    ? { journal, lease, owned: created && takeLease, starts: 1, length: 1, created, rests: isLeft }
    : acquire(host, journal);
}

/** Parked, and neither a time nor an answer has come: see `costs` of Storage. */
async function rests(host: Host, { state, blocked }: RunJournal): Promise<boolean> {
  const { status, wakeAt } = state.summary;
  const waits = status === "suspended" && (wakeAt ?? Infinity) > host.world.now() && blocked === null;
  if (!waits || host.patienceMs > 0 || state.openChildren().length > 0) return false;
  return (await host.storage()).costs === true;
}

function assertSame(
  journal: RunJournal,
  { name }: Definition,
  input: Json,
  { childOf, isNew }: NewRun,
): void {
  const { runId, workflow, parent } = journal.state.summary;
  if (workflow !== name || (isNew && parent !== null) || !isChild(journal, childOf)) {
    const role = parent === null ? `run of workflow "${workflow}"` : "fork, child or spawned run";
    throw new DurableError(
      isNew ? "run-exists" : "workflow-mismatch",
      `Run ${runId} already exists as a ${role}. Choose another id.`,
    );
  }
  if (journal.firstInput !== fingerprintOf(input)) {
    throw new DurableError(
      "input-mismatch",
      `Run ${runId} was started with another input. Use the same input, another id, or flow.fork("${runId}", { from, input }) to keep recorded work.`,
    );
  }
}

/** A fork of the parent has the same parent, and is not a child. */
export function isChild(journal: RunJournal, childOf: ChildOf | undefined): boolean {
  return childOf === undefined || journal.childOf?.runId === childOf.runId;
}

/** Takes the lease of a journal, and reads the entries that are new; nothing after more than `maxStarts`. */
export async function acquire(
  host: Host,
  journal: RunJournal,
  maxStarts = Infinity,
  definition?: Definition,
): Promise<LeasedRun> {
  const lease = host.parked.checkedOut(journal)?.lease ?? (await host.newLease(definition));
  const granted = journal.state.end === null ? await lease.acquire(journal) : null;
  const { starts = 0, length = 0 } = granted ?? {};
  const leased = { journal, lease, owned: granted !== null, starts, length, created: false };
  if (starts > maxStarts) return leased;
  try {
    if (journal.position === 0 || journal.position < length) await journal.refresh();
    // A copy that lags is read on. With a stale copy, recorded work would run again.
    if (journal.position < length) await journal.refresh();
    if (journal.position < length) throw incomplete(journal.locator, journal.position, length);
    return leased;
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** When a new run begins, and beside which others. */
export interface FlowStart {
  /** Due runs with a higher priority, in seconds, are taken first; that of the workflow by default. */
  readonly priority?: number | undefined;
  /** The run begins after this time. */
  readonly delay?: Duration | undefined;
  /** The run begins at this time: a date, or milliseconds since the epoch. */
  readonly at?: Date | number | undefined;
  /**
   * The run begins when no other start with this key came for the time `wait`. Until then, each further start
   * with the key moves its beginning and replaces its input, its tags and its deadline.
   */
  readonly debounce?: { readonly key: string; readonly wait: Duration } | undefined;
  /** While a run of the workflow with this key has not ended, a start returns that run and records none. */
  readonly singleton?: string | { readonly key: string } | undefined;
}

export interface NewRun {
  readonly id?: string | undefined;
  readonly childOf?: ChildOf;
  readonly spawnedBy?: SpawnedBy;
  readonly tags?: Tags | undefined;
  /** Refuses a fork, a child and a run of another workflow under this id as `run-exists`. */
  readonly isNew?: boolean;
  /** How long the run may take; the default of its workflow when it is missing. */
  readonly deadline?: Duration | Date | undefined;
  /** Without the lease the run is due at once, for any worker or sweep. */
  readonly takeLease: boolean;
  /** When it begins, and beside which others. */
  readonly start?: FlowStart | undefined;
  /** The schedule whose tick it is. */
  readonly schedule?: string;
  readonly scope?: string | undefined;
  /** The eval that the run is. */
  readonly eval?: string;
  /** Budgets of runs above it. */
  readonly budgets?: readonly TreeBudget[];
  readonly mayJoin?: MayJoin | undefined;
}

/** Refuses, by what it throws, that a start is answered with this run, which has its key. */
export type MayJoin = (runId: string) => void | Promise<void>;

/** An open run, and whether this process may drive it. */
export interface LeasedRun {
  readonly journal: RunJournal;
  readonly lease: DriverLease;
  /** False while another process drives the run. */
  readonly owned: boolean;
  /** The run was recorded just now. */
  readonly created: boolean;
  /** It was just read, and there is nothing to drive. */
  readonly rests?: boolean;
  /** How often a driver took the run since its journal last grew. Many starts mean that the run kills its drivers. */
  readonly starts: number;
  /** How many batches the journal had when the lease was taken. */
  readonly length: number;
}
