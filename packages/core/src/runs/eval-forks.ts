/**
 * Forks of evals: made, and driven to their end, without effects. engine/evals.ts says what runs in them.
 *
 * eval-forks.1. Only the eval drives its forks: they are never due, and a driver that does not know the eval refuses them.
 * eval-forks.2. The id names all that the fork depends on, so a fork that exists is not made again: it is continued, or its
 *     end is read.
 */

import type { Definition } from "../engine/definition.ts";
import { Original, type EvalVariant, type Stub } from "../engine/evals.ts";
import type { RunEntry } from "../journal/outcome.ts";
import { decodeEntry, type Outcome } from "../journal/outcome.ts";
import { RunJournal } from "../journal/journal.ts";
import { locatorOf } from "../journal/keys.ts";
import { decode } from "../values/codec/decode.ts";
import { fingerprint } from "../values/codec/fingerprint.ts";
import { pause } from "../ports/world.ts";
import { waitingCaller } from "./admit.ts";
import { create, type LeasedRun } from "./create.ts";
import { advance } from "./drive.ts";
import { createFork, type ForkOptions } from "./fork.ts";
import { hostOf, type Host } from "./host.ts";
import { definitionOf, openRun } from "./lookup.ts";
import { entriesOf } from "./reader.ts";
import { leftAsTheyAre, retryRun } from "./steer.ts";

/** A fork of an eval. */
export interface EvalForkOf extends Pick<ForkOptions, "from" | "after" | "edit" | "label" | "chapter"> {
  /** The id of the fork. */
  readonly id: string;
  /** The name of the eval. */
  readonly eval: string;
  readonly variant: EvalVariant;
  /** What tools and steps do, by name. */
  readonly stubs: Readonly<Record<string, Stub>>;
  /** Calls of tools are not answered from the original. */
  readonly refuse: boolean;
  /** Ends the drive: the fork can be continued. */
  readonly signal?: AbortSignal | undefined;
}

/** A fork that has come to its end, and what it and its original recorded. */
export interface EvalForkEnd {
  readonly outcome: Outcome<unknown>;
  readonly entries: readonly RunEntry[];
}

/** A recorded run, as an eval reads it. */
export interface EvalOriginal {
  readonly runId: string;
  readonly workflow: string;
  readonly chapter: number;
  /** The position of its last entry without scores, and what names its incarnation: a longer run is another original. */
  readonly seq: number;
  readonly nonce: string;
  readonly input: unknown;
  readonly entries: readonly RunEntry[];
}

/** Reads a run that an eval forks. */
export async function originalOf(app: object, runId: string, chapter?: number): Promise<EvalOriginal> {
  const journal = await openRun(hostOf(app), runId, chapter);
  const entries = journal.entries.map((entry) => decodeEntry(entry, runId));
  const input = decode(journal.input, `input of run ${runId}`);
  const { nonce } = journal;
  const seq = entries.findLast(({ kind }) => kind !== "run.scored")?.seq ?? journal.seq;
  return {
    runId,
    workflow: journal.state.summary.workflow,
    chapter: journal.chapter,
    seq,
    nonce,
    input,
    entries,
  };
}

/** How often a run is read that another process drives. */
const lookMs = 500;

/** Makes a fork of a run, or finds it, and drives it to its end. `code` is that of the variant, if it has its own. */
export async function forkForEval(
  app: object,
  runId: string,
  { variant, stubs, refuse, signal, ...options }: EvalForkOf,
  code: Definition | null,
): Promise<EvalForkEnd> {
  const host = hostOf(app);
  const parent = await openRun(host, runId, options.chapter);
  // Limits and budgets of production do not hold for an eval.
  const { flow: _, budget: __, ...definition } = code ?? definitionOf(host, parent);
  const known = await RunJournal.open(locatorOf(options.id), await host.journals());
  if (known === null) await createFork(host, definition, parent, options);
  const made = known ?? (await openRun(host, options.id));
  const base = made.first.kind === "run.forked" ? made.first.base : parent.seq;
  const original = new Original(
    runId,
    parent.entries.filter(({ seq }) => seq <= base),
  );
  host.evals.set(options.id, { eval: options.eval, variant, stubs, refuse, original });
  try {
    const outcome = await toEnd(host, definition, made, signal);
    return { outcome, entries: await entriesOf(host, options.id, {}) };
  } finally {
    host.evals.delete(options.id);
  }
}

/** Drives a run of an eval, or waits for the process that does, until it has ended. */
async function toEnd(
  host: Host,
  definition: Definition,
  first: RunJournal | LeasedRun,
  signal: AbortSignal | undefined,
): Promise<Outcome<unknown>> {
  const { runId } = "journal" in first ? first.journal : first;
  for (let run = first; ; run = await openRun(host, runId)) {
    const outcome = await advance(host, definition, run, { ...waitingCaller, patience: "1 day", signal });
    if (outcome.status !== "running" && outcome.status !== "suspended") return outcome;
    signal?.throwIfAborted();
    await pause(host.world, lookMs, signal);
  }
}

/** The workflow of an eval, as a run of its own. */
export interface EvalRunOf {
  readonly id: string;
  /** The name of the eval. */
  readonly eval: string;
  /** Ends the drive: the run can be continued. */
  readonly signal?: AbortSignal | undefined;
}

/** Drives the workflow that an eval is to its end. A failure of before is tried again, and all else of it stays. */
export async function runEval(
  app: object,
  definition: Definition,
  input: unknown,
  { signal, ...made }: EvalRunOf,
): Promise<Outcome<unknown>> {
  const host = hostOf(app);
  const run = await create(host, definition, input, { ...made, takeLease: true });
  if (run.journal.state.end?.kind !== "run.failed") return toEnd(host, definition, run, signal);
  await retryRun(host, made.id, { drive: false, steps: leftAsTheyAre(run.journal, []) ?? [] });
  return toEnd(host, definition, await openRun(host, made.id), signal);
}

/** Names a run of an eval by what it depends on. With encryption, the name says nothing without the key. */
export async function evalId(app: object, kind: string, dependsOn: unknown): Promise<string> {
  const { cipher } = await hostOf(app).journals();
  const name = fingerprint(dependsOn, `what a run "${kind}" depends on`);
  const sealed = cipher?.nameOf(name);
  return `${kind}-${sealed === undefined ? name : fingerprint(sealed)}`;
}

/** The code of a workflow in an app; `null` when it has none of this name. */
export function codeFor(app: object, workflow: string): Definition | null {
  return hostOf(app).find(workflow);
}
