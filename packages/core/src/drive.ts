/**
 * Starting, advancing and ending runs: the walk from a definition and a journal to an outcome.
 * One read per advance; the lease is taken after it, and a journal that moved in between is read on.
 */

import { writeFact } from "./batch.ts";
import { cancelChild, tellParent } from "./cancel.ts";
import { decode } from "./codec/decode.ts";
import { encode, encodeThrown } from "./codec/encode.ts";
import { fingerprintOf } from "./codec/fingerprint.ts";
import type { Json } from "./codec/tags.ts";
import { createContext, type Context } from "./context.ts";
import type { Definition } from "./definition.ts";
import { toMs, type Duration } from "./duration.ts";
import type { ChildRun } from "./engine/child-runs.ts";
import { Engine } from "./engine/engine.ts";
import { Hold } from "./engine/hold.ts";
import type { AtEdge, Finish, Stop } from "./engine/options.ts";
import type { ChildOf } from "./entry.ts";
import { DurableError } from "./errors.ts";
import type { Host } from "./host.ts";
import { Journal } from "./journal.ts";
import { incomplete } from "./journal-errors.ts";
import { assertRunId, locatorOf } from "./keys.ts";
import { definitionOf, encodeInput, openJournal, openRun } from "./open.ts";
import { standing, type Outcome } from "./outcome.ts";

/** Blocked runs are left out of due lists for this long; asked for by id, they are tried at once. */
const quietMs = 60_000;

/** A run with the grip this process has on it; `held` is false while somebody else drives it. */
export interface Begun {
  readonly journal: Journal;
  readonly hold: Hold;
  readonly held: boolean;
  /** Times a driver took the run since its journal last grew: one that keeps dying kills its drivers. */
  readonly starts: number;
}

export interface AdvanceOptions {
  /** Sleeps and retries within this time are sat out; the app's own patience by default. */
  readonly patience?: Duration;
  /** On abort the run is handed on: work that is under way is recorded, nothing more begins. */
  readonly signal?: AbortSignal;
  /** A run taken up more often than this without any progress is `blocked` as `poison`; no limit by default. */
  readonly maxStarts?: number;
}

/** Records a new run, or finds the one that has this id. */
export async function begin(
  host: Host,
  definition: Definition,
  input: unknown,
  { id, childOf }: { readonly id?: string | undefined; readonly childOf?: ChildOf } = {},
): Promise<Begun> {
  const encoded = await encodeInput(definition, input);
  const runId = id ?? host.world.id();
  assertRunId(runId);
  const journals = await host.journals();
  const journal = Journal.create(runId, journals);
  const hold = new Hold({ ...journals, ttlMs: host.leaseMs });
  const { name: workflow, version } = definition;
  const started = { kind: "run.started", runId, workflow, version, input: encoded } as const;
  const fact = writeFact({ ...started, ...(childOf === undefined ? {} : { childOf }) }, host.world.now());
  const appended = await journal.append([fact], { lease: hold.claimNew(journal) });
  if (appended.kind === "landed") return { journal, hold, held: true, starts: 1 };
  assertSame(journal, definition, encoded);
  return grip(host, journal);
}

function assertSame(journal: Journal, definition: Definition, input: Json): void {
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
export async function grip(host: Host, journal: Journal): Promise<Begun> {
  const hold = new Hold({ storage: await host.storage(), world: host.world, ttlMs: host.leaseMs });
  const lease = journal.state.end === null ? await hold.acquire(journal) : null;
  if (lease === null) return { journal, hold, held: false, starts: 0 };
  if (lease.length !== journal.position) await journal.look();
  // A copy that lags behind would have recorded work done again.
  if (journal.position < lease.length) throw incomplete(journal.runId, journal.position, lease.length);
  return { journal, hold, held: true, starts: lease.starts };
}

/** Drives a run on, unless it is over or driven elsewhere. */
export async function advance(
  host: Host,
  definition: Definition,
  begun: Begun,
  options: AdvanceOptions = {},
): Promise<Outcome<unknown>> {
  const { journal, hold, held, starts } = begun;
  const { runId } = journal;
  if (journal.state.end !== null) {
    await hold.release();
    return standing(host, journal, true);
  }
  if (!held) return { runId, recorded: false, status: "running" };
  if (starts > (options.maxStarts ?? Number.POSITIVE_INFINITY)) {
    await hold.abandon();
    return { runId, recorded: false, status: "blocked", error: poison(runId, starts) };
  }
  const outcome = await outcomeAfter(host, journal, await drive(host, definition, begun, { options }));
  if (journal.state.end !== null) wakeParent(host, journal);
  return outcome;
}

/** Drives the run of this id on. */
export async function advanceRun(
  host: Host,
  runId: string,
  options?: AdvanceOptions,
): Promise<Outcome<unknown>> {
  const journal = await openRun(host, runId);
  return advance(host, definitionOf(host, journal), await grip(host, journal), options);
}

/** A child that ended has told its parent; where its code is at hand, and nobody drives it here, it goes on now. */
export function wakeParent(host: Host, { childOf }: Journal): void {
  if (childOf === undefined || host.driving.has(childOf.runId)) return;
  const wake = async (): Promise<void> => {
    const parent = await openJournal(host, locatorOf(childOf.runId));
    const definition = parent === null ? null : host.find(parent.state.summary.workflow);
    if (parent !== null && definition !== null) await advance(host, definition, await grip(host, parent));
  };
  host.background(`run ${childOf.runId}`, wake());
}

/** Creates a child run if it is not there, and drives it on. */
async function driveChild(host: Host, child: ChildRun, options: AdvanceOptions): Promise<Outcome<unknown>> {
  const { runId, definition, input, childOf } = child;
  const journal = await openJournal(host, locatorOf(runId));
  const begun =
    journal === null
      ? await begin(host, definition, decode(input, `input of run ${runId}`), { id: runId, childOf })
      : await grip(host, journal);
  return advance(host, definition, begun, options);
}

function poison(runId: string, starts: number): DurableError {
  return new DurableError(
    "poison",
    `Run ${runId} was taken up ${starts - 1} times without progress: it seems to kill its driver. Look at the step after its last entry, then advance it by hand.`,
  );
}

export async function outcomeAfter(host: Host, journal: Journal, stop: Stop): Promise<Outcome<unknown>> {
  if (stop.kind === "blocked")
    return { runId: journal.runId, recorded: false, status: "blocked", error: stop.error };
  const outcome = await standing(host, journal, false);
  // Whoever took the run over may not have written yet: the journal then still shows our own last word.
  return stop.kind === "lost" && outcome.status === "suspended"
    ? { runId: journal.runId, recorded: false, status: "running" }
    : outcome;
}

/** One life of the workflow function over one journal, to its next stop. */
export async function drive(
  host: Host,
  definition: Definition,
  begun: Begun,
  { atEdge, options = {} }: { atEdge?: AtEdge; options?: AdvanceOptions } = {},
): Promise<Stop> {
  const { journal, hold } = begun;
  const input = decode(journal.input, `input of run ${journal.runId}`);
  const engine = new Engine({
    journal,
    world: host.world,
    keyring: await host.keyring(),
    hold,
    patienceMs: options.patience === undefined ? host.patienceMs : toMs(options.patience, "patience"),
    atEdge,
    children: {
      drive: (child) => driveChild(host, child, options),
      cancel: (child) => cancelChild(host, child),
    },
    tell: (end) => tellParent(host, journal, end),
    revive: (again) => revive(host, begun, again),
  });
  const leave = (): void => engine.leave();
  options.signal?.addEventListener("abort", leave, { once: true });
  if (options.signal?.aborted === true) leave();
  const ctx = createContext({ engine, version: versionOf(journal) }, engine.root);
  void run(definition, ctx, input).then((finish) => engine.finish(finish));
  host.driving.add(journal.runId);
  try {
    return await settled(hold, engine.drive());
  } finally {
    host.driving.delete(journal.runId);
    options.signal?.removeEventListener("abort", leave);
  }
}

/** Gives the lease back however the drive ended. */
async function settled(hold: Hold, drive: Promise<Stop>): Promise<Stop> {
  try {
    const stop = await drive;
    await hold.release(stop.kind === "blocked" ? quietMs : undefined);
    return stop;
  } catch (error) {
    await hold.release();
    throw error;
  }
}

/** A foreign wait ended after the run was parked: the same life of the function goes on, under a new lease. */
function revive(host: Host, { journal, hold }: Begun, drive: () => Promise<Stop>): void {
  const again = async (): Promise<Stop> => {
    const lease = await hold.acquire(journal);
    if (lease === null || lease.length !== journal.position) return { kind: "lost" };
    return settled(hold, drive());
  };
  host.background(`run ${journal.runId}`, again());
}

/** Calls the function; its end is encoded at once, so that nothing can change it afterwards. */
async function run(definition: Definition, ctx: Context, input: unknown): Promise<Finish> {
  const where = `of run ${ctx.runId}`;
  try {
    const value: unknown = await definition.body(ctx as never, input as never);
    const output = encode(value, `output ${where}`);
    return { fact: (orphans) => ({ kind: "run.completed", output, ...noted(orphans) }) };
  } catch (thrown) {
    const error = encodeThrown(thrown, `error ${where}`);
    return {
      fact: (orphans) => ({ kind: "run.failed", error, ...noted(orphans) }),
      thrown: { value: thrown },
    };
  }
}

function noted(orphans: readonly string[]): { orphans?: readonly string[] } {
  return orphans.length === 0 ? {} : { orphans };
}

/** Only a beginning has one. */
function versionOf(journal: Journal): string | null {
  return journal.entries.find((entry) => "version" in entry)?.version ?? null;
}
