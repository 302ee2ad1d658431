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
import { lazy } from "../values/lazy.ts";
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

export async function end(host: Host, journal: RunJournal, reason: string): Promise<void> {
  // The hooks of a run that is driven are called by its driver.
  const isParked = journal.state.summary.status === "suspended";
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
  if (isParked) void host.observing().then((observe) => observe?.(journal).ended());
}

const spawnPart = /* @__PURE__ */ lazy(() => import("./spawn.ts"));

/** Cancels the runs that a run has spawned to end with it, before its own end is recorded. */
export async function endSpawned(host: Host, journal: RunJournal): Promise<void> {
  const verbs = { cancelChild, end, headsBelow, openJournal };
  if (journal.state.endsSpawned) await (await spawnPart()).endSpawned(host, journal, verbs);
}

/** Cancels a child without a report to its parent, which is ending too or no longer needs the child. */
export async function cancelChild(host: Host, child: UnneededChild): Promise<void> {
  const { runId, workflow, link, plain } = child;
  const above = "childOf" in link ? link.childOf : link.spawnedBy;
  const reason = `Run ${above.runId} does not need it any more.`;
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
