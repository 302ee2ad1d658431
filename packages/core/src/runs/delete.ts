/** Removes runs, and those below them. */

import type { RunJournal } from "../journal/journal.ts";
import { assertRunId, locatorOf } from "../journal/keys.ts";
import { beyondEnd, hasEnded } from "../ports/storage-kit.ts";
import type { RunHead } from "../ports/storage.ts";
import { end } from "./cancel.ts";
import type { Host } from "./host.ts";
import { headsBelow } from "./list.ts";
import { notFound, openJournal } from "./lookup.ts";

/** Deletes the run with this id. Its journal is read only if that is needed: a fork would read all its ancestors. */
export async function deleteById(host: Host, runId: string): Promise<void> {
  assertRunId(runId);
  const locator = locatorOf(runId);
  const { length, deleted = false, head } = await (await host.storage()).read(locator, beyondEnd);
  if (length === 0 || deleted) throw notFound(runId);
  await deleteRun(host, { runId, locator, isUsed: head === undefined || isUsed(head) });
}

/** A run may have a driver, or wait to begin with a turn of a rate. */
function isUsed(head: Pick<RunHead, "status" | "flow">): boolean {
  return head.status === "running" || (!hasEnded(head) && head.flow?.startAt !== undefined);
}

/**
 * Removes a run and its children, and ends the runs that it has spawned to end with it. All are ended first, so that none
 * goes on if this stops half-way, drivers stop as soon as after a cancel, and none of them opens another child.
 */
async function deleteRun(
  host: Host,
  run: Pick<RunJournal, "runId" | "locator"> & { readonly isUsed: boolean },
): Promise<void> {
  const { runId, locator } = run;
  const open = run.isUsed || (await unforkedBelow(host, runId)).length > 0;
  const journal = open ? await openJournal(host, locator) : null;
  const ends = { reason: `Run ${runId} was deleted.`, force: true, cleansUp: () => {} };
  if (journal !== null) await end(host, journal, ends);
  const below = open ? await runsBelow(host, runId) : [];
  const children = below.filter(({ childOf }) => childOf !== undefined);
  const spawned = below.filter(({ spawnedBy }) => spawnedBy?.onParentEnd !== undefined);
  const life = journal === null ? {} : { unneeded: journal.state.life };
  for (const each of [...children, ...spawned]) await end(host, each, { ...ends, ...life });
  await (await host.storage()).delete(locator);
  for (const child of children)
    await deleteRun(host, {
      runId: child.runId,
      locator: child.locator,
      isUsed: isUsed(child.state.summary),
    });
}

/** Forks have the same parent, and are left out. */
async function unforkedBelow(host: Host, runId: string): Promise<RunHead[]> {
  return [...(await headsBelow(host, runId)).values()].filter(({ ancestors }) => ancestors.length === 0);
}

/** All children and spawned runs of a run, also of its earlier chapters. */
async function runsBelow(host: Host, runId: string): Promise<RunJournal[]> {
  const heads = await unforkedBelow(host, runId);
  const journals = await Promise.all(heads.map(({ locator }) => openJournal(host, locator)));
  return journals
    .filter((journal) => journal !== null)
    .filter(({ childOf, spawnedBy }) => (childOf ?? spawnedBy)?.runId === runId);
}
