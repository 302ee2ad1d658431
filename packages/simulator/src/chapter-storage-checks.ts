/**
 * I8: the storage returns a chapter as it was written, also without the ones before; these can be dropped,
 * unless a fork reads them, and go with the blobs that nothing else names. Proven by the planted bugs of `npm
 * run sim:mutants`.
 */

import { DurableError } from "@durable/core";
import type { Cluster } from "./cluster.ts";
import type { History } from "./history.ts";
import { chaptersOf, driverOf, type RunLog } from "./run-log.ts";

/** Runs after the end of the simulation, and after everything else: it drops the earlier chapters. */
export async function judgeChapters(cluster: Cluster): Promise<void> {
  const { history, disk } = cluster;
  const current = history.runs.filter((run) => run.chapter > 1 && history.run(run.runId) === run);
  for (const run of current) {
    noteForks(history, run);
    if (run.deleted || run.tainted || !disk.offers("readChapter") || !disk.offers("dropChapters")) continue;
    await judgeStored(cluster, run, (await disk.readChapter(run.locator)).from);
    await judgeDropped(cluster, run);
  }
}

function noteForks(history: History, run: RunLog): void {
  const { earlier } = run;
  const forked = history.runs.some(({ parentLog }) => parentLog !== undefined && parentLog === earlier);
  if (forked) history.meet("a fork of an earlier chapter");
  const drivers = new Set(run.batches.filter(({ outside }) => !outside).map(driverOf));
  if (drivers.size > 1) history.meet("a chapter that another process took up");
}

async function judgeStored({ history, disk }: Cluster, run: RunLog, from: number): Promise<void> {
  const where = `run ${run.runId}: the storage`;
  if (from !== run.offset)
    return history.violate(
      "I8",
      `${where} begins chapter ${run.chapter} at ${from} instead of ${run.offset}`,
    );
  const { batches, blobs = {} } = await disk.readChapter(run.locator);
  if (batches.length !== run.batches.length || batches.some((text, i) => text !== run.batches[i]?.text))
    history.violate("I8", `${where} returns chapter ${run.chapter} unlike it was written`);
  const missing = [...run.parts.names].find((name) => blobs[name] === undefined);
  if (missing !== undefined)
    history.violate("I8", `${where} returns chapter ${run.chapter} without ${missing}`);
}

/** Earlier chapters can be dropped unless a fork reads them, and the current one stays as it is. */
async function judgeDropped(cluster: Cluster, run: RunLog): Promise<void> {
  const { history, disk } = cluster;
  const earlier = chaptersOf(run).slice(0, -1);
  // A storage knows runs by their ids: a fork of a deleted run is taken for one of the run that got its id.
  const readers = history.runs.filter((other) =>
    history
      .lineage(other)
      .some((log) => log !== other && (earlier.includes(log) || log.locator === run.locator)),
  );
  const kept = readers.find((other) => !other.deleted && !other.tainted && names(history, other, earlier));
  try {
    await disk.dropChapters(run.locator, run.offset);
  } catch (error) {
    if (!DurableError.is(error, "conflict") || readers.length === 0)
      history.violate("I8", `run ${run.runId}: its earlier chapters cannot be dropped: ${String(error)}`);
    return history.meet("chapters that a fork keeps from being dropped");
  }
  if (kept !== undefined)
    history.violate("I8", `run ${run.runId}: chapters were dropped that its fork ${kept.runId} reads`);
  history.meet("chapters that were dropped");
  await judgeStored(cluster, run, (await disk.read(run.locator, 0)).from ?? 0);
  await judgeUnnamed(cluster, earlier);
}

/** True when a fork names one of these chapters. It does not name a run that contributes nothing. */
function names(history: History, fork: RunLog, chapters: readonly RunLog[]): boolean {
  const { ancestry = [] } = history.entries(fork)[0] ?? {};
  return ancestry.some(({ runId, from = 0 }) =>
    chapters.some((log) => log.runId === runId && log.offset === from && !log.dropped),
  );
}

async function judgeUnnamed({ history, disk }: Cluster, dropped: readonly RunLog[]): Promise<void> {
  // A deleted or forgotten run may still be read by a fork.
  const others = history.runs.filter((run) => !run.dropped || run.tainted);
  const named = new Set(others.flatMap(({ parts }) => [...parts.names]));
  for (const name of new Set(dropped.flatMap(({ parts }) => [...parts.names]))) {
    if (named.has(name)) continue;
    history.meet("a blob that went with its chapter");
    if (await disk.holds(name))
      history.violate("I8", `blob ${name} was not dropped with the last chapter that named it`);
  }
}
