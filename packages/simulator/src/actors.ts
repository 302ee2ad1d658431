/**
 * The processes of a simulated cluster: workers or sweepers, a starter, an answerer, readers, recorders and
 * an operator. Proven in test/sim.test.ts.
 */

import { createWorker, type Outcome } from "@durable/core";
import { answerer } from "./answerer.ts";
import { keptTo } from "./fleet-plan.ts";
import { forkRun } from "./fork-requests.ts";
import { inputFor } from "./input-checks.ts";
import { judgeFailure, judgeOutcome, noteWarning } from "./outcome-checks.ts";
import type { RunPlan } from "./plan.ts";
import { queuersOf } from "./queue-actors.ts";
import { reader } from "./readers.ts";
import { recorder } from "./recorders.ts";
import { plannersOf } from "./schedule-actors.ts";
import { sender } from "./sender.ts";
import { isStrange } from "./stranger-checks.ts";
import { surroundings } from "./surroundings.ts";
import { stranger } from "./strangers.ts";
import { forever, startOfTime, type Actor, type ProcessLife, type Cluster } from "./cluster.ts";

export function actorsOf(cluster: Cluster): Actor[] {
  const { workers, readers = 0, records = 0, strangers = 0, senders = 0 } = cluster.plan;
  cluster.onFork = (life, runId, id) => forkRun(cluster, life, runId, { id });
  cluster.onWarning = (message) => noteWarning(cluster, message);
  return [
    ...Array.from({ length: workers }, (_, i) => worker(cluster, i)),
    starter(cluster),
    answerer(cluster),
    ...Array.from({ length: readers }, (_, i) => reader(cluster, `reader-${i + 1}`)),
    ...(records === 0 ? [] : ["recorder-1", "recorder-2"].map((name) => recorder(cluster, name, records))),
    ...(strangers === 0 ? [] : [stranger(cluster, strangers)]),
    ...Array.from({ length: senders }, (_, i) => sender(cluster, `sender-${i + 1}`)),
    ...plannersOf(cluster),
    ...queuersOf(cluster),
    // Always the last: operator.ts picks it by position.
    operator(),
  ];
}

function worker(cluster: Cluster, number: number): Actor {
  const { plan } = cluster;
  const { sweeps, intervalMs, concurrency } = plan;
  const onStop = (outcome: Outcome<unknown>): void => {
    cluster.history.meet(`a drive that ended ${outcome.status}`);
    judgeOutcome(cluster, outcome);
  };
  return {
    name: `worker-${number + 1}`,
    boot: ({ process, app, code }) => {
      process.kept = keptTo(plan, { number, code, workflows: app.workflows }, cluster.network.healed);
      const onDrive = (runId: string, drive: () => Promise<void>): Promise<void> =>
        surroundings.run({ process: process.name, drive: runId }, drive);
      const options = { concurrency, interval: intervalMs, maxStarts: 6, onStop, onDrive, ...process.kept };
      if (!sweeps) return void createWorker(app, options);
      void forever(process, intervalMs, async () => {
        const { failed, outcomes, unknown } = await app.sweep({ concurrency });
        if (unknown.some((id) => isStrange(cluster.history.run(id))))
          cluster.history.meet("a due run of another workflow");
        outcomes.forEach(onStop);
        for (const { error } of failed) judgeFailure(cluster, process.name, error);
      });
    },
  };
}

/** Starts every run of the plan, and repeats a start until the run exists. */
function starter(cluster: Cluster): Actor {
  const { history, plan } = cluster;
  const start = async (
    life: ProcessLife,
    { id, flow, left, deadlineMs: deadline }: RunPlan,
  ): Promise<void> => {
    const { process, flows } = life;
    while (history.run(id) === undefined) {
      try {
        // Some starts wait for the end of the run, some do not.
        const { input = inputFor(id) } = cluster.programs[flow] ?? {};
        if (left === true) await flows[flow]?.start(input, { id, deadline, drive: false });
        else if (process.random.chance(0.5)) await flows[flow]?.start(input, { id, deadline });
        else {
          const outcome = await flows[flow]?.run(input, { id, deadline });
          if (outcome !== undefined) judgeOutcome(cluster, outcome);
        }
        history.meet("a start that was acknowledged");
      } catch (error) {
        judgeFailure(cluster, process.name, error);
        history.meet("a start that failed");
      }
      await process.pause(1_500);
    }
  };
  return {
    name: "starter",
    boot: (life) => {
      for (const run of plan.runs) {
        const wait = Math.max(0, run.at - (cluster.scheduler.now - startOfTime));
        for (let i = 0; i < run.starters; i++) void life.process.pause(wait).then(() => start(life, run));
      }
    },
  };
}

/**
 * A process of its own for cancels, forks and deletes. Its random streams keep an old name, so that seeds and
 * saved plans keep their histories.
 */
function operator(): Actor {
  return { name: "operator", streamName: "hand", boot: () => {} };
}
