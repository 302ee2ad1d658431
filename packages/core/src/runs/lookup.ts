/** Finds the journal of a run id, and the workflow of a journal. */

import { encode } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Definition } from "../engine/definition.ts";
import { DurableError, show } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { isDeleted } from "../journal/errors.ts";
import { RunJournal } from "../journal/journal.ts";
import { assertRunId, locatorOf } from "../journal/keys.ts";
import type { World } from "../ports/world.ts";
import { fits } from "../values/schema.ts";
import { outcomeOf, type Outcome, type Reader } from "../journal/outcome.ts";

export async function openJournal(host: Host, locator: string): Promise<RunJournal | null> {
  return RunJournal.open(locator, await host.journals());
}

/** Reads the current chapter of a run, or an earlier one. */
export async function openRun(host: Host, runId: string, chapter?: number): Promise<RunJournal> {
  assertRunId(runId);
  const journal = await RunJournal.open(locatorOf(runId), { ...(await host.journals()), chapter });
  if (journal === null) throw notFound(runId);
  if (chapter === undefined || (journal.entries.length > 0 && journal.chapter === chapter)) return journal;
  throw new DurableError(
    "not-found",
    `Run ${runId} has no chapter ${show(chapter)}, or it was dropped. Chapters count from 1.`,
  );
}

/** Names one incarnation of a run id, so that a deleted id that is used again shares nothing with the old run. */
export function newNonce(world: World, runId: string): string {
  return world.nonce?.(runId) ?? world.id().slice(0, 16);
}

/** True when an error of something that was done to a run means that the run was deleted meanwhile. */
async function wasDeleted(host: Host, locator: string, error: unknown): Promise<boolean> {
  const { runId } = isDeleted(error) ? error.details : {};
  if (typeof runId === "string" && locatorOf(runId) === locator) return true;
  if (
    !isDeleted(error) &&
    !DurableError.is(error, "journal-regressed") &&
    !DurableError.is(error, "storage-failed")
  )
    return false;
  const storage = await host.storage();
  const reply = await storage.read(locator, Number.MAX_SAFE_INTEGER).catch(() => null);
  return reply !== null && (reply.length === 0 || reply.deleted === true);
}

/** Throws if the result is, or has, the outcome of a run that was deleted while it was driven. */
function kept<T>(result: T): T {
  const { error, outcome } = Object(result) as { error?: unknown; outcome?: { error?: unknown } };
  for (const one of [error, outcome?.error]) if (isDeleted(one)) throw one;
  return result;
}

/** Does something to a run that a caller names by its id. A run that is deleted meanwhile is not found. */
export async function byId<T>(host: Host, runId: string, work: () => Promise<T>): Promise<T> {
  try {
    return kept(await work());
  } catch (error) {
    throw (await wasDeleted(host, locatorOf(runId), error)) ? notFound(runId) : error;
  }
}

/** The reply to the holder of a token that names no run. */
const unknown = { status: "unknown", repeated: false } as const;

/** The same for a run that the caller names by a token: it is `unknown`. */
export async function orUnknown<T>(
  host: Host,
  find: () => Promise<string | null>,
  work: () => Promise<T>,
): Promise<T | typeof unknown> {
  try {
    return kept(await work());
  } catch (error) {
    if (DurableError.is(error, "not-found")) return unknown;
    const locator = await find();
    if (locator === null || !(await wasDeleted(host, locator, error))) throw error;
    return unknown;
  }
}

/** The locator that a token names; `null` when it is not one of ours. */
export async function locatorIn(host: Host, token: string): Promise<string | null> {
  const keyring = await host.keyring();
  return keyring instanceof DurableError ? null : (keyring.verify(token)?.locator ?? null);
}

export function notFound(runId: string): DurableError {
  return new DurableError(
    "not-found",
    `There is no run ${runId} in this storage. Check the id and the storage.`,
  );
}

export function definitionOf(host: Host, journal: RunJournal): Definition {
  const { workflow, runId } = journal.state.summary;
  const definition = host.find(workflow);
  if (definition !== null) return definition;
  throw new DurableError(
    "unknown-workflow",
    `Run ${runId} belongs to workflow "${workflow}", which is not known here. Add it to createApp({ workflows }).`,
  );
}

/** A wrong id must not end or fork a run of another workflow. */
export function assertRunOf(journal: RunJournal, name: string): void {
  const { workflow, runId } = journal.state.summary;
  if (workflow === name) return;
  throw new DurableError(
    "unknown-workflow",
    `Run ${runId} belongs to workflow "${workflow}", not to "${name}". Check the id.`,
  );
}

export async function encodeInput(definition: Definition, input: unknown): Promise<Json> {
  const where = `input of workflow "${definition.name}"`;
  const result = await fits(definition.input, input);
  if (!result.ok)
    throw new DurableError("invalid-input", `The ${where} does not fit its schema: ${result.issues}.`);
  return encode(result.value, where);
}

/** What an outcome of this journal depends on, beside the journal. */
export async function readerOf(host: Host, { runId, state }: RunJournal): Promise<Reader> {
  const paused = state.end === null && (await host.isPaused(state.summary.workflow));
  return { keyring: await host.keyring(), now: host.world.now(), paused, drives: host.driving.has(runId) };
}

/** The present outcome of a run that has not ended has the waits of its open children, too. */
export async function outcomeWithChildren(
  host: Host,
  journal: RunJournal,
  recorded: boolean,
): Promise<Outcome<unknown>> {
  const outcome = outcomeOf(journal, await readerOf(host, journal), recorded);
  const children = "waiting" in outcome ? journal.state.openChildren() : [];
  if (!("waiting" in outcome) || children.length === 0) return outcome;
  const options = await host.journals();
  const below = children.map(async ({ opened: { key, child } }) => {
    const run = await RunJournal.open(locatorOf(child), options);
    const inner = run === null ? null : await outcomeWithChildren(host, run, false);
    if (inner === null || !("waiting" in inner)) return [];
    return inner.waiting.map((point) => ({ ...point, key: `${key}/${point.key}` }));
  });
  return { ...outcome, waiting: [...outcome.waiting, ...(await Promise.all(below)).flat()] };
}
