/** What a run does with those that it spawns: records them, and ends them where they end with it. Loaded at its first use. */

import type { SpawnRequest, UnneededChild } from "../engine/child-runs.ts";
import type { Definition } from "../engine/definition.ts";
import type { AdvanceOptions } from "../engine/stop.ts";
import type { Entry, Fact, SpawnedBy } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { childIdOf } from "../journal/keys.ts";
import type { Outcome } from "../journal/outcome.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import { decode } from "../values/codec/decode.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, describeError, show } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { headsBelow } from "./list.ts";
import { openJournal, openRun } from "./lookup.ts";

type Opened = Entry & { readonly kind: "spawn.opened" };

/** What drive.ts does, which loads this file. */
interface Verbs<Leased extends Recorded> {
  readonly create: (host: Host, definition: Definition, input: unknown, given: NewSpawned) => Promise<Leased>;
  readonly advance: (host: Host, definition: Definition, run: Leased) => Promise<Outcome<unknown>>;
  /** Of the drive that spawns. */
  readonly signal: AdvanceOptions["signal"];
}

interface Recorded {
  readonly created: boolean;
  readonly owned: boolean;
  readonly lease: { release(): Promise<void> };
}

interface NewSpawned {
  readonly id: string;
  readonly spawnedBy: SpawnedBy;
  readonly isNew: boolean;
  readonly takeLease: boolean;
}

/** Errors that a further try would meet again. */
const final =
  "invalid-id invalid-input invalid-options input-mismatch limit not-serializable not-found run-exists";

/** The next entry of a spawn. Rejects when a further try may succeed. */
export async function spawnRun<Leased extends Recorded>(
  host: Host,
  parent: RunJournal,
  request: SpawnRequest,
  verbs: Verbs<Leased>,
): Promise<Fact<Json>> {
  const { key, after, where, declared: input, definition, opened } = request;
  const { id, ifExists, onParentEnd } = request.options;
  // What was recorded counts, also when the code gives another id by now.
  const recorded = spawnedOf(parent).find((entry) => entry.key === key);
  const child = recorded?.child ?? id ?? childIdOf(parent.runId, key, parent.nonce);
  const policy = onParentEnd === "cancel" ? ({ onParentEnd } as const) : {};
  if (!opened)
    return { kind: "spawn.opened", key, after, child, workflow: definition.name, input, ...policy };
  try {
    assertOneOf(where, "onParentEnd", onParentEnd, ["leave", "cancel"]);
    assertOneOf(where, "ifExists", ifExists, ["fail", "keep"]);
    await record(host, request, { id: child, spawnedBy: { runId: parent.runId, key, ...policy } }, verbs);
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
async function record<Leased extends Recorded>(
  host: Host,
  { definition, input, options }: SpawnRequest,
  run: { readonly id: string; readonly spawnedBy: SpawnedBy },
  { create, advance, signal }: Verbs<Leased>,
): Promise<void> {
  // With a signal the caller is a worker: the run is due at once, and it or another one takes it.
  const takeLease = signal === undefined || host.find(definition.name) === null;
  const given = decode(input, `input of run ${run.id}`);
  try {
    const leased = await create(host, definition, given, { ...run, isNew: true, takeLease });
    if (leased.created) {
      if (takeLease) host.background(`run ${run.id}`, advance(host, definition, leased));
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

/** The spawns that this run has recorded itself in its current chapter: what a fork has inherited is not its own. */
function spawnedOf({ entries, first }: RunJournal): Opened[] {
  return entries.filter((entry) => entry.kind === "spawn.opened" && entry.seq > first.seq) as Opened[];
}

/** What cancel.ts does, which imports this file. */
interface Enders {
  readonly cancelChild: (host: Host, child: UnneededChild) => Promise<void>;
  readonly end: (host: Host, run: RunJournal, reason: string) => Promise<void>;
}

/** Cancels the runs that a run has spawned to end with it, before its own end is recorded. */
export async function endSpawned(
  host: Host,
  journal: RunJournal,
  { cancelChild, end }: Enders,
): Promise<void> {
  const { runId } = journal;
  for (const { child, workflow, key, onParentEnd } of spawnedOf(journal)) {
    if (onParentEnd === undefined) continue;
    const link = { spawnedBy: { runId, key, onParentEnd } } as const;
    await cancelChild(host, { runId: child, workflow, link, life: journal.state.life });
  }
  // Those of earlier chapters are found by their link.
  if (journal.chapter === 1) return;
  for (const { locator } of (await headsBelow(host, runId)).values()) {
    const run = await openJournal(host, locator);
    const { spawnedBy } = run ?? {};
    if (run !== null && spawnedBy?.runId === runId && spawnedBy.onParentEnd !== undefined)
      await end(host, run, `Run ${runId} has ended.`);
  }
}
