/**
 * Checks on tags and on spawned runs.
 *
 * I8. The tags of a head are those that the entries set, over all chapters. A spawned run begins after its parent has
 *     recorded it, once, and only a run that exists is recorded as started.
 * I9. When a run ends, the runs that it has spawned to end with it have ended, or undo what they did.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { RunHead } from "@durable/core";
import type { History } from "./history.ts";
import { endsCode } from "./undo-checks.ts";
import { chaptersOf, isEnd, isOpen, type AppliedBatch, type RunLog, type WrittenEntry } from "./run-log.ts";

/** Runs when a batch is applied. */
export function judgeFinding(
  history: History,
  { run, batch, head }: { readonly run: RunLog; readonly batch: AppliedBatch; readonly head: RunHead },
): void {
  judgeTags(history, run, head);
  if (run.batches.length === 1 && run.chapter === 1) judgeNew(history, run, batch);
  for (const entry of batch.entries) {
    if (entry.kind === "tag.set") history.meet("tags that were changed");
    if (entry.kind === "spawn.started") judgeStarted(history, run, entry);
    if (isEnd(entry.kind)) judgeEnd(history, run, entry);
  }
}

function judgeTags(history: History, run: RunLog, head: RunHead): void {
  let tags = new Map<string, string>();
  for (const { kind, tags: given } of chaptersOf(run).flatMap((log) => history.entries(log))) {
    if (kind === "run.started" || kind === "run.forked") tags = new Map();
    for (const [name, value] of Object.entries(given ?? {})) {
      tags.delete(name);
      if (value !== null) tags.set(name, value);
    }
  }
  const [expected, found] = [shown(tags), shown(Object.entries(head.tags ?? {}))];
  if (expected !== found)
    history.violate("I8", `run ${run.runId}: the head has the tags ${found}, the journal ${expected}`);
  if (run.chapter > 1 && tags.size > 0) history.meet("a chapter with tags");
  if (run.parent !== null && tags.size > 0) history.meet("a fork with tags");
}

/** Names of tags are unique, so their order is that of the names. */
function shown(tags: Iterable<[string, string]>): string {
  return JSON.stringify([...tags].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A spawned run that begins. */
function judgeNew(history: History, run: RunLog, { entries }: AppliedBatch): void {
  const { spawnedBy } = entries[0] ?? {};
  if (spawnedBy === undefined) return;
  if (entries.at(-1)?.kind === "run.cancelled") return history.meet("a spawned run that never began");
  const parents = history.runs.filter(({ runId }) => runId === spawnedBy.runId);
  const known = parents.some(
    (parent) =>
      parent.tainted ||
      history.entries(parent).some(({ kind, child }) => kind === "spawn.opened" && child === run.runId),
  );
  if (!known && history.forgotten.size === 0)
    history.violate("I8", `run ${run.runId} begins, but the run that spawned it does not know of it`);
  if (parents.every((parent) => !isOpen(parent)))
    history.meet("a spawned run that began after its parent's end");
}

function judgeStarted(history: History, run: RunLog, { key, child = "" }: WrittenEntry): void {
  const begun = history.runs.filter(({ runId, chapter }) => runId === child && chapter === 1);
  const isLost =
    run.tainted || history.forgotten.size > 0 || begun.some(({ deleted, tainted }) => deleted || tainted);
  if (begun.length !== 1 && !isLost)
    history.violate(
      "I8",
      `run ${run.runId}: ${key} is recorded as started, and there are ${begun.length} runs ${child}`,
    );
}

function judgeEnd(history: History, run: RunLog, { kind }: WrittenEntry): void {
  const spawned = chaptersOf(run)
    .flatMap((log) => history.entries(log))
    .filter((entry) => entry.kind === "spawn.opened");
  for (const { child = "", onParentEnd } of spawned) {
    const logs = history.runs.filter(({ runId }) => runId === child);
    const log = history.run(child);
    if (onParentEnd === undefined) {
      if (log !== undefined && isOpen(log)) history.meet("a spawned run that outlives its parent");
      continue;
    }
    const isLost =
      run.tainted || history.forgotten.size > 0 || logs.some(({ deleted, tainted }) => deleted || tainted);
    if (isLost || (log !== undefined && !isOpen(log))) continue;
    // It was cancelled too, and cleans up; or it has failed, and is undone.
    if (log !== undefined && history.entries(log).some((entry) => endsCode(entry.kind))) {
      history.meet("a spawned run that cleans up after its parent's end");
      continue;
    }
    // Changed code has left the spawn behind before the run was recorded.
    if (log === undefined && history.codeChanges) continue;
    history.violate(
      "I9",
      `run ${run.runId} has ${kind}, but ${child}, which ends with it, ${log?.status ?? "may begin"}`,
    );
  }
  if (spawned.some(({ onParentEnd }) => onParentEnd !== undefined))
    history.meet("a spawned run that ended with its parent");
}

/** What a sweep must have met. */
export const findingEvents: readonly string[] = [
  "tags that were changed",
  "a chapter with tags",
  "a fork with tags",
  "a spawned run that outlives its parent",
  "a spawned run that ended with its parent",
  "a spawned run that never began",
  "a spawned run that cleans up after its parent's end",
];
