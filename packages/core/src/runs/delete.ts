/** Removes runs, and those below them. */

import type { RunJournal } from "../journal/journal.ts";
import { end } from "./cancel.ts";
import type { Host } from "./host.ts";
import { leaveLine } from "./leave-line.ts";
import { headsBelow } from "./list.ts";
import { openJournal } from "./lookup.ts";

/**
 * Removes a run and its children, and ends the runs that it has spawned to end with it. All are ended first, so that none
 * goes on if this stops half-way.
 */
export async function deleteRun(host: Host, journal: RunJournal): Promise<void> {
  const { runId, locator, state } = journal;
  const below = await runsBelow(host, runId);
  const children = below.filter(({ childOf }) => childOf !== undefined);
  const spawned = below.filter(({ spawnedBy }) => spawnedBy?.onParentEnd !== undefined);
  const ends = { reason: `Run ${runId} was deleted.`, force: true, unneeded: state.life, cleansUp: () => {} };
  for (const run of [...children, ...spawned]) await end(host, run, ends);
  await (await host.storage()).delete(locator);
  if (state.end === null) await leaveLine(host, journal);
  for (const child of children) await deleteRun(host, child);
}

/** All children and spawned runs of a run, also of its earlier chapters. Its forks have the same parent, and are left out. */
async function runsBelow(host: Host, runId: string): Promise<RunJournal[]> {
  const heads = [...(await headsBelow(host, runId)).values()];
  const journals = await Promise.all(heads.map(({ locator }) => openJournal(host, locator)));
  return journals
    .filter((journal) => journal !== null)
    .filter(({ childOf, spawnedBy }) => (childOf ?? spawnedBy)?.runId === runId);
}
