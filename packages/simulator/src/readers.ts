/**
 * I13: processes that read streams while they are written, leave and come back.
 *
 * - Chunks come in order, every index once, and as they are recorded.
 * - A further attempt begins with a reset, before its first chunk.
 * - The end comes when it is recorded, after every chunk of the last attempt.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import { DurableError, type StreamEvent } from "@durable/core";
import type { History } from "./history.ts";
import { judgeFailure } from "./outcome-checks.ts";
import { areOneRun, isEnd, type RunLog, type WrittenEntry } from "./run-log.ts";
import { chunksOf } from "./stream-checks.ts";
import type { Actor, ProcessLife, Cluster } from "./cluster.ts";

/** What one life of a reader has read of one stream. */
interface Seen {
  readonly run: RunLog;
  readonly key: string;
  attempt: number;
  chunks: unknown[];
  over: boolean;
}

export function reader(cluster: Cluster, name: string): Actor {
  return {
    name,
    boot: (life) => {
      const asked = new AbortController();
      life.process.world.onTerminate(() => asked.abort());
      void readAlong(cluster, life, asked.signal);
    },
  };
}

async function readAlong(cluster: Cluster, life: ProcessLife, asked: AbortSignal): Promise<void> {
  const { history } = cluster;
  const { process } = life;
  const known: Seen[] = [];
  while (!asked.aborted) {
    for (const { run, key } of history.streams.slice(known.length))
      known.push({ run, key, attempt: 1, chunks: [], over: false });
    const open = known.filter((seen) => !seen.over && isSound(history, seen.run) && isKnown(history, seen));
    if (open.length > 0) await session(cluster, life, process.random.pick(open), asked);
    if (!asked.aborted) await process.pause(process.random.pick([100, 600, 2_000]));
  }
}

/** Before it has a record, a key without a path may also mean a stream of that name in a branch. */
function isKnown(history: History, seen: Seen): boolean {
  return seen.key.includes("/") || history.entries(seen.run).some(({ key }) => key === seen.key);
}

/** A deleted or forgotten run looks like one that never existed. */
function isSound(history: History, run: RunLog): boolean {
  const current = history.run(run.runId);
  return (
    current !== undefined &&
    areOneRun(current, run) &&
    history.lineage(run).every(({ tainted, deleted, dropped }) => !tainted && !deleted && !dropped)
  );
}

/** Reads to the end of the stream, or until the reader leaves. */
async function session(
  cluster: Cluster,
  { process, app }: ProcessLife,
  seen: Seen,
  asked: AbortSignal,
): Promise<void> {
  const { history } = cluster;
  const { run, key } = seen;
  const { random } = process;
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  asked.addEventListener("abort", leave, { once: true });
  void process.pause(random.pick([50, 1_500, 6_000, 40_000])).then(leave);
  const from = random.chance(0.5) ? seen.chunks.length : random.between(0, seen.chunks.length);
  if (seen.chunks.length > 0) history.meet("a reader that came back");
  seen.chunks.length = from;
  const { signal } = leaving;
  try {
    // Without a number the reader might go on to the next chapter.
    const chapter = cluster.continues ? { chapter: run.chapter } : {};
    const options = { from, attempt: seen.attempt, signal, ...chapter };
    for await (const event of app.get(run.runId).stream(key, options)) {
      if (!isSound(history, run)) return;
      take(history, seen, event);
      if (history.violations.length > 0 || random.chance(0.15)) return;
    }
    if (!signal.aborted && isSound(history, run)) judgeWhole(history, seen);
  } catch (error) {
    if (isSound(history, run)) judgeError(cluster, seen, error);
  } finally {
    asked.removeEventListener("abort", leave);
  }
}

function take(history: History, seen: Seen, event: StreamEvent): void {
  const { run, key } = seen;
  const where = `run ${run.runId}: a reader of ${key}`;
  if (event.type === "reset") {
    history.meet("a reset seen by a reader");
    if (event.attempt <= seen.attempt)
      history.violate("I13", `${where} gets a reset to attempt ${event.attempt} after ${seen.attempt}`);
    seen.attempt = event.attempt;
    seen.chunks = [];
    return;
  }
  const { attempt, index, value } = event;
  if (attempt !== seen.attempt || index !== seen.chunks.length)
    history.violate(
      "I13",
      `${where} gets chunk ${index} of attempt ${attempt}, after ${seen.chunks.length} of ${seen.attempt}`,
    );
  const recorded = recordedOf(history, run, key, attempt).map((chunks) => JSON.stringify(chunks[index]));
  if (!recorded.includes(JSON.stringify(value)))
    history.violate("I13", `${where} gets ${JSON.stringify(value)} at ${index}, which is not recorded`);
  seen.chunks.push(value);
}

/** The recorded chunks of an attempt, in the run's journal and in those of its ancestors. */
function recordedOf(history: History, run: RunLog, key: string, attempt: number): unknown[][] {
  const lineage = history.lineage(run);
  const edited = lineage.some((log) => (history.entries(log)[0]?.edits?.length ?? 0) > 0);
  const recorded = lineage.map((log) => chunksOf(history.entries(log), key, attempt));
  return edited ? [...recorded, ["edited"]] : recorded;
}

function ofStream(history: History, { run, key }: Seen): WrittenEntry[] {
  return history.lineage(run).flatMap((log) => history.entries(log).filter((entry) => entry.key === key));
}

function judgeWhole(history: History, seen: Seen): void {
  const { run, key, attempt, chunks } = seen;
  seen.over = true;
  history.meet("a stream read to its end");
  if (run.status === "continued") history.meet("a stream of an earlier chapter read to its end");
  const ended = ofStream(history, seen).some(({ kind }) => kind === "stream.completed");
  const edits = history.lineage(run).flatMap((log) => history.entries(log)[0]?.edits ?? []);
  const whole = recordedOf(history, run, key, attempt).some(
    (recorded) => JSON.stringify(recorded) === JSON.stringify(chunks),
  );
  if ((!ended && edits.length === 0) || !whole)
    history.violate("I13", `run ${run.runId}: a reader of ${key} got its end after ${chunks.length} chunks`);
}

/** A stream fails for its reader only after the failure, or the end of the run, is recorded. */
function judgeError(cluster: Cluster, seen: Seen, error: unknown): void {
  const { history } = cluster;
  const { run, key } = seen;
  const over = run.status === "continued" || history.entries(run).some(({ kind }) => isEnd(kind));
  const failed = ofStream(history, seen).some(({ kind }) => kind === "stream.failed");
  if (DurableError.is(error, "step-failed") ? failed : over) seen.over = true;
  else if (DurableError.is(error, "step-failed") || DurableError.is(error, "run-failed"))
    history.violate(
      "I13",
      `run ${run.runId}: a reader of ${key} got a failure that is not recorded: ${error.message}`,
    );
  judgeFailure(cluster, "reader", error);
}
