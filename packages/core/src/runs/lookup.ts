/** Finds the journal of a run id, and the workflow of a journal. */

import { encode } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Definition } from "../engine/definition.ts";
import { DurableError, show } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { RunJournal } from "../journal/journal.ts";
import { assertRunId, locatorOf } from "../journal/keys.ts";
import type { World } from "../ports/world.ts";
import { fits } from "../values/schema.ts";

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

export async function encodeInput(definition: Definition, input: unknown): Promise<Json> {
  const where = `input of workflow "${definition.name}"`;
  const result = await fits(definition.input, input);
  if (!result.ok)
    throw new DurableError("invalid-input", `The ${where} does not fit its schema: ${result.issues}.`);
  return encode(result.value, where);
}
