/**
 * A journal without a workflow, and the two processes that record into it, die and come back.
 *
 * I1. Every caller gets the recorded value.
 * I3. A process does not repeat work whose record it has read; every record was made by a body.
 * I13. A stream that was read to its end is recorded as it was read.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import { Journal, type StepInfo } from "@durable/core";
import type { History } from "./history.ts";
import { judgeFailure } from "./outcome-checks.ts";
import type { Process } from "./process.ts";
import { isEnd, isSettlement, type RunLog } from "./run-log.ts";
import { chunksOf } from "./stream-checks.ts";
import { forever, type Actor, type ProcessLife, type Cluster } from "./cluster.ts";

const id = "records";

/** The journal, once it exists. */
function recordsOf({ history }: Cluster): RunLog | undefined {
  return history.run(id);
}

/** True when every key of the plan is recorded, or no more can be. */
export function areRecorded(cluster: Cluster): boolean {
  const { records = 0 } = cluster.plan;
  const run = recordsOf(cluster);
  if (records === 0 || run?.tainted === true || cluster.history.forgotten.size > 0) return true;
  if (run === undefined || run.deleted) return false;
  const entries = cluster.history.entries(run);
  if (entries.some(({ kind }) => isEnd(kind))) return true;
  return new Set(entries.filter(({ kind }) => isSettlement(kind)).map(({ key }) => key)).size >= records;
}

export function recorder(cluster: Cluster, name: string, records: number): Actor {
  return {
    name,
    boot: (life) => {
      const { process, options } = life;
      let journal: Journal | null = null;
      void forever(process, 900, async () => {
        if (areRecorded(cluster) && process.random.chance(0.8)) return;
        try {
          // A process that has the whole journal in memory does not notice that it was deleted.
          if (cluster.network.healed) journal = null;
          journal ??= await Journal.open(id, options);
          const index = process.random.between(0, records - 1);
          await (index % 2 === 0
            ? record(cluster, life, journal, `key ${index}`)
            : recordStream(cluster, life, journal, `feed ${index}`));
        } catch (error) {
          // After any error the journal is read again.
          journal = null;
          if (!(error instanceof Error) || error.message !== failure)
            judgeFailure(cluster, process.name, error);
        }
      });
    },
  };
}

const failure = "planned failure";

async function record(
  cluster: Cluster,
  { process }: ProcessLife,
  journal: Journal,
  key: string,
): Promise<void> {
  const value = await journal.record(key, async (info) => {
    begins(cluster, process, info);
    await process.pause(process.random.pick([0, 50, 1_000]));
    if (!cluster.network.healed && process.random.chance(0.2)) throw new Error(failure);
    return cluster.mark();
  });
  const { history } = cluster;
  const known = lives(history).flatMap((run) =>
    history.entries(run).filter((entry) => entry.kind === "step.completed" && entry.key === key),
  );
  if (!known.some((entry) => entry.value === value) && !isDoubtful(history))
    history.violate("I1", `${process.name} got ${JSON.stringify(value)} for ${key}, which is not recorded`);
}

async function recordStream(
  cluster: Cluster,
  { process }: ProcessLife,
  journal: Journal,
  key: string,
): Promise<void> {
  const { history } = cluster;
  const stream = journal.recordStream(key, async function* (info) {
    begins(cluster, process, info);
    for (let left = process.random.between(0, 4); left > 0; left--) {
      await process.pause(process.random.pick([0, 40, 400]));
      if (!cluster.network.healed && process.random.chance(0.1)) throw new Error(failure);
      yield cluster.mark();
    }
  });
  const chunks: unknown[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
    // Recording continues when the reader leaves.
    if (process.random.chance(0.05)) return;
  }
  const known = lives(history).flatMap((run) => {
    const entries = history.entries(run);
    const end = entries.find((entry) => entry.kind === "stream.completed" && entry.key === key);
    return end === undefined ? [] : [chunksOf(entries, key, end.attempt ?? 1)];
  });
  if (!known.some((recorded) => JSON.stringify(recorded) === JSON.stringify(chunks)) && !isDoubtful(history))
    history.violate(
      "I13",
      `${process.name} got ${JSON.stringify(chunks)} for ${key}, but ${JSON.stringify(known)} is recorded`,
    );
}

function begins(cluster: Cluster, process: Process, { key }: StepInfo): void {
  const { history, plan } = cluster;
  const run = recordsOf(cluster);
  history.say(process.name, `records ${key}`);
  history.meet("a record made without a workflow");
  // A stale read may know less than the one before, and a deleted journal is recorded again.
  const sure = (plan.rates.stale ?? 0) === 0 && run !== undefined && !run.deleted;
  if (sure && process.knows(run, key))
    history.violate("I3", `${process.name} works on ${key} again after it read its record`);
}

function lives({ runs }: History): RunLog[] {
  return runs.filter(({ runId }) => runId === id);
}

/** The storage forgot a batch, or the journal was deleted meanwhile. */
function isDoubtful(history: History): boolean {
  return history.forgotten.size > 0 || lives(history).some(({ tainted, deleted }) => tainted || deleted);
}

/** Runs after the end of the simulation. */
export function judgeRecords(cluster: Cluster, run: RunLog): void {
  const { history } = cluster;
  for (const { kind, key, value, chunks = [] } of history.entries(run)) {
    const made = kind === "step.completed" ? [value] : chunks;
    for (const mark of made)
      if (!cluster.marks.has(String(mark)))
        history.violate("I3", `${key} of journal ${id} is recorded as ${String(mark)}, which no body made`);
  }
}
