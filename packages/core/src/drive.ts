/**
 * Starting, advancing and ending runs: the walk from a definition and a journal to an outcome.
 * One read per advance; the lease is taken after it, and a journal that moved in between is read on.
 */

import { decode } from "./codec/decode.ts";
import { assertSize, encode, encodeThrown } from "./codec/encode.ts";
import { fingerprintOf } from "./codec/fingerprint.ts";
import type { Json } from "./codec/tags.ts";
import { createContext, type Context } from "./context.ts";
import { Engine } from "./engine/engine.ts";
import { Hold } from "./engine/hold.ts";
import type { AtEdge, Finish, Stop } from "./engine/options.ts";
import { writeFact } from "./entry.ts";
import { DurableError } from "./errors.ts";
import type { Host } from "./host.ts";
import { Journal } from "./journal.ts";
import { assertRunId, locatorOf } from "./keys.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";
import { validate, type StandardSchema } from "./schema.ts";

/** A workflow as the engine sees it. */
export interface Definition {
  readonly name: string;
  readonly body: (ctx: Context, input: unknown) => unknown;
  readonly input: StandardSchema | null;
  readonly version: string | null;
}

/** From a workflow's name to its code; `null` where this process does not have it. */
export type Find = (workflow: string) => Definition | null;

/** Blocked runs are left out of due lists for this long; asked for by id, they are tried at once. */
const quietMs = 60_000;

export async function openJournal(host: Host, locator: string): Promise<Journal | null> {
  return Journal.open(locator, { storage: await host.storage(), world: host.world });
}

export async function openRun(host: Host, runId: string): Promise<Journal> {
  assertRunId(runId);
  const journal = await openJournal(host, locatorOf(runId));
  if (journal !== null) return journal;
  throw new DurableError(
    "not-found",
    `There is no run ${runId} in this storage. Check the id, and which storage the run was started with.`,
  );
}

export function definitionOf(find: Find, journal: Journal): Definition {
  const { workflow, runId } = journal.state.summary;
  const definition = find(workflow);
  if (definition !== null) return definition;
  throw new DurableError(
    "unknown-workflow",
    `Run ${runId} belongs to workflow "${workflow}", which is not known here. Add it to createApp({ workflows }).`,
  );
}

export async function encodeInput(definition: Definition, input: unknown): Promise<Json> {
  const where = `input of workflow "${definition.name}"`;
  const result =
    definition.input === null
      ? ({ ok: true, value: input } as const)
      : await validate(definition.input, input);
  if (!result.ok)
    throw new DurableError("invalid-input", `The ${where} does not fit its schema: ${result.issues}.`);
  const encoded = encode(result.value, where);
  assertSize(JSON.stringify(encoded), where);
  return encoded;
}

/** A run with the grip this process has on it; `held` is false while somebody else drives it. */
export interface Begun {
  readonly journal: Journal;
  readonly hold: Hold;
  readonly held: boolean;
}

/** Records a new run, or finds the one that has this id. */
export async function begin(host: Host, definition: Definition, input: unknown, id?: string): Promise<Begun> {
  const encoded = await encodeInput(definition, input);
  const runId = id ?? host.world.id();
  assertRunId(runId);
  const storage = await host.storage();
  const journal = Journal.create(runId, { storage, world: host.world });
  const hold = new Hold({ storage, world: host.world, ttlMs: host.leaseMs });
  const { name: workflow, version } = definition;
  const fact = writeFact({ kind: "run.started", runId, workflow, version, input: encoded }, host.world.now());
  const appended = await journal.append([fact], { lease: hold.claimNew(journal) });
  if (appended.kind === "landed") return { journal, hold, held: true };
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
      `Run ${runId} was started with another input. Continue it with the same input, use another id, or change the input and keep recorded work with flow.fork("${runId}", { from, input }).`,
    );
  }
}

/** Takes the lease of an open journal, and reads on if it moved since. */
export async function grip(host: Host, journal: Journal): Promise<Begun> {
  const hold = new Hold({ storage: await host.storage(), world: host.world, ttlMs: host.leaseMs });
  if (journal.state.end !== null) return { journal, hold, held: false };
  const lease = await hold.acquire(journal);
  if (lease === null) return { journal, hold, held: false };
  if (lease.length !== journal.position) await journal.look();
  return { journal, hold, held: true };
}

/** Drives a run on, unless it is over or driven elsewhere. */
export async function advance(host: Host, definition: Definition, begun: Begun): Promise<Outcome<unknown>> {
  const { journal, hold, held } = begun;
  const keyring = await host.keyring();
  if (journal.state.end !== null) {
    await hold.release();
    return outcomeOf(journal, keyring, true);
  }
  if (!held) return { runId: journal.runId, recorded: false, status: "running" };
  const stop = await drive(host, definition, begun);
  return outcomeAfter(host, journal, stop);
}

export async function outcomeAfter(host: Host, journal: Journal, stop: Stop): Promise<Outcome<unknown>> {
  if (stop.kind === "blocked")
    return { runId: journal.runId, recorded: false, status: "blocked", error: stop.error };
  const outcome = outcomeOf(journal, await host.keyring(), false);
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
  atEdge?: AtEdge,
): Promise<Stop> {
  const { journal, hold } = begun;
  const keyring = await host.keyring();
  const input = decode(journal.input, `input of run ${journal.runId}`);
  const engine = new Engine({
    journal,
    world: host.world,
    hold,
    patienceMs: host.patienceMs,
    atEdge,
    revive: (again) => revive(host, begun, again),
  });
  const ctx = createContext({ engine, keyring, version: versionOf(journal) }, engine.root);
  void run(definition, ctx, input).then((finish) => engine.finish(finish));
  return settled(hold, engine.drive());
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
  host.world.warn(
    `run ${journal.runId} was parked and went on after a wait that is not ctx's. Put such waits inside a step.`,
  );
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
  const noted = (orphans: readonly string[]) => (orphans.length === 0 ? {} : { orphans });
  try {
    const value: unknown = await definition.body(ctx, input);
    const output = encode(value, `output ${where}`);
    assertSize(JSON.stringify(output), `output ${where}`);
    return { fact: (orphans) => ({ kind: "run.completed", output, ...noted(orphans) }) };
  } catch (thrown) {
    const error = encodeThrown(thrown, `error ${where}`);
    return {
      fact: (orphans) => ({ kind: "run.failed", error, ...noted(orphans) }),
      thrown: { value: thrown },
    };
  }
}

function versionOf(journal: Journal): string | null {
  const first = journal.entries.find((entry) => entry.kind === "run.started" || entry.kind === "run.forked");
  return first !== undefined && "version" in first ? first.version : null;
}

/** Ends a run from outside. */
export async function cancel(host: Host, runId: string, reason: string | null): Promise<Outcome<unknown>> {
  const journal = await openRun(host, runId);
  const before = journal.state.end;
  while (journal.state.end === null) {
    const fact = writeFact({ kind: "run.cancelled", reason }, host.world.now());
    await journal.append([fact], { outside: true, lease: null });
  }
  return outcomeOf(journal, await host.keyring(), before !== null);
}
