/**
 * Cancels runs, and the runs below them.
 *
 * cancel.1. Children are cancelled first. The cancellation of the parent is appended only if no child was opened since, so
 *     at that moment all its children have ended.
 * cancel.2. A child that has not started is cancelled by its first batch, so a process that starts it later finds it ended.
 */

import { writeFact } from "../journal/fact-text.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { UnneededChild } from "../engine/child-runs.ts";
import type { Fact } from "../journal/entry.ts";
import { DurableError } from "../values/errors.ts";
import type { Host } from "./host.ts";
import { RunJournal } from "../journal/journal.ts";
import { locatorOf } from "../journal/keys.ts";
import { headsBelow, newNonce, openJournal } from "./lookup.ts";
import type { Outcome } from "../journal/outcome.ts";
import { scrub } from "../values/scrub.ts";
import { reportToParent } from "./parent.ts";
import { outcomeWithChildren } from "./status.ts";

/** Cancels a run and all runs below it. */
export async function cancel(host: Host, journal: RunJournal, reason = ""): Promise<Outcome<unknown>> {
  const { runId, state } = journal;
  const before = state.end;
  if (before === null) {
    const error = new DurableError("cancelled", `Run ${runId} was cancelled.`);
    await reportToParent(host, journal, {
      kind: "run.failed",
      error: encodeThrown(error, `end of run ${runId}`),
    });
  }
  await end(host, journal, reason);
  return outcomeWithChildren(host, journal, before !== null);
}

async function end(host: Host, journal: RunJournal, reason: string): Promise<void> {
  while (journal.state.end === null) {
    for (const { opened } of journal.state.openChildren()) {
      const { child, workflow, key, after } = opened;
      const link = { childOf: { runId: journal.runId, key, after } };
      await cancelChild(host, { runId: child, workflow, link, plain: journal.nonce === null });
    }
    await endSpawned(host, journal);
    const fact = writeFact({ kind: "run.cancelled", reason: scrub(reason) || null }, host.world.now());
    await journal.append([fact], { outside: true, lease: null });
  }
}

/**
 * Removes a run and its children, and ends the runs that it has spawned to end with it. All are ended first, so that none
 * goes on if this stops half-way.
 */
export async function deleteRun(host: Host, { runId, locator }: RunJournal): Promise<void> {
  const below = await runsBelow(host, runId);
  const children = below.filter(({ childOf }) => childOf !== undefined);
  const spawned = below.filter(({ spawnedBy }) => spawnedBy?.onParentEnd !== undefined);
  for (const run of [...children, ...spawned]) await end(host, run, `Run ${runId} was deleted.`);
  await (await host.storage()).delete(locator);
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

/** True when some spawned runs are cancelled when this one ends. */
export function endsSpawned({ state, first }: RunJournal): boolean {
  return state.endingSpawned().length > 0 || (first.kind === "run.continued" && first.endsSpawned === true);
}

/** Cancels the runs that a run has spawned to end with it, before its own end is recorded. */
export async function endSpawned(host: Host, journal: RunJournal): Promise<void> {
  if (!endsSpawned(journal)) return;
  const { runId, state } = journal;
  for (const { child, workflow, key } of state.endingSpawned()) {
    const link = { spawnedBy: { runId, key, onParentEnd: "cancel" } } as const;
    await cancelChild(host, { runId: child, workflow, link, plain: false });
  }
  // Those of earlier chapters are found by their link.
  if (journal.chapter === 1) return;
  for (const run of await runsBelow(host, runId))
    if (run.spawnedBy?.onParentEnd !== undefined) await end(host, run, endedWith(runId));
}

const endedWith = (runId: string): string => `Run ${runId} has ended, or does not need it any more.`;

/** Cancels a child without a report to its parent, which is ending too or no longer needs the child. */
export async function cancelChild(host: Host, child: UnneededChild): Promise<void> {
  const { runId, workflow, link, plain } = child;
  const above = "childOf" in link ? link.childOf : link.spawnedBy;
  const reason = endedWith(above.runId);
  const journal = await openJournal(host, locatorOf(runId));
  // Another run may have the id that was given to a spawned one.
  if (journal !== null && "spawnedBy" in link && journal.spawnedBy?.runId !== above.runId) return;
  if (journal !== null) return end(host, journal, reason);
  const unborn = new RunJournal(locatorOf(runId), await host.journals());
  const facts: Fact<Json>[] = [
    {
      kind: "run.started",
      runId,
      workflow,
      version: null,
      input: null,
      ...link,
      ...(plain ? {} : { nonce: newNonce(host.world, runId) }),
    },
    { kind: "run.cancelled", reason },
  ];
  try {
    await unborn.append(
      facts.map((fact) => writeFact(fact, host.world.now())),
      { outside: true, lease: null },
    );
  } catch (error) {
    // The child was deleted, so it will never start.
    if (!DurableError.is(error, "conflict")) throw error;
    return;
  }
  // If another process has started the child in the meantime, it is cancelled like any other run.
  await end(host, unborn, reason);
}
