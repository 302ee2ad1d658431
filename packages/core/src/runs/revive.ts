/**
 * Runs that were cancelled because the run above them had no more need of them, and that a retry of that run needs again.
 *
 * revive.1. Only a cancellation by an earlier life of the run above is taken back: each retry begins the next life. Without
 *     that mark a run was cancelled for itself, and stays so.
 * revive.2. A run that goes on keeps its id, its tokens and its recorded work. One that was undone, or cancelled before it
 *     began, cannot go on.
 */

import { writeFact } from "../journal/fact-text.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Host } from "./host.ts";
import { headsBelow } from "./list.ts";
import { openJournal } from "./lookup.ts";

/** True when an earlier life of the run above has cancelled the run. */
function isOfEarlier({ state }: RunJournal, life: number): boolean {
  return (state.unneeded ?? Infinity) < life;
}

function canGoOn({ state, position }: RunJournal): boolean {
  return state.undoing === null && position > 1;
}

/** Takes back what an earlier life of the run above did to this one, if the run can go on. */
export async function revive(host: Host, journal: RunJournal, life: number): Promise<void> {
  while (isOfEarlier(journal, life) && canGoOn(journal)) {
    const now = host.world.now();
    const isLate = (journal.state.endsBy ?? Infinity) <= now;
    const fact = writeFact({ kind: "run.retried", ...(isLate && { deadline: null }) }, now);
    await journal.append([fact], { outside: true });
    await reviveSpawned(host, journal);
  }
}

/** The runs that this one has spawned to end with it, and that an earlier life of it has cancelled. */
async function endedSpawned(host: Host, { runId, state }: RunJournal, life: number): Promise<RunJournal[]> {
  if (!state.endsSpawned) return [];
  const found: RunJournal[] = [];
  for (const { locator } of (await headsBelow(host, runId)).values()) {
    const run = await openJournal(host, locator);
    if (run?.spawnedBy?.runId === runId && isOfEarlier(run, life)) found.push(run);
  }
  return found;
}

/** A spawned run that would not go on with this one; `null` when all would. */
export async function lostSpawned(host: Host, journal: RunJournal): Promise<string | null> {
  const ended = await endedSpawned(host, journal, Infinity);
  return ended.find((run) => !canGoOn(run))?.runId ?? null;
}

/** The spawned runs that ended with a run go on with it. Returns their ids. */
export async function reviveSpawned(host: Host, journal: RunJournal): Promise<string[]> {
  const { end, life } = journal.state;
  const ended = end === null ? await endedSpawned(host, journal, life) : [];
  for (const run of ended) await revive(host, run, life);
  return ended.map(({ runId }) => runId);
}
