/** The process that starts the runs of the queue. Proven in test/sim-fleet.test.ts. */

import { startOfTime, type Actor, type Cluster, type ProcessLife } from "./cluster.ts";
import { inputFor } from "./input-checks.ts";
import { judgeFailure, judgeOutcome } from "./outcome-checks.ts";
import type { QueuedStart } from "./plan.ts";
import { optionsOf } from "./queue-plan.ts";

/** Repeats each start until it is acknowledged. */
export function queuersOf(cluster: Cluster): Actor[] {
  const { plan, history, scheduler } = cluster;
  const { queue } = plan;
  if (queue === undefined) return [];
  const begin = async (life: ProcessLife, start: QueuedStart): Promise<void> => {
    const { process, flows } = life;
    const flow = flows[queue.flow];
    while (!isStarted(cluster, start)) {
      try {
        const options = optionsOf(start, process.clock);
        const drive = process.random.chance(0.5);
        const run = await flow?.start(inputFor(start.name), { ...options, drive });
        if (run === undefined) return;
        history.queued.push({ start, runId: run.id });
        history.say(process.name, `${start.name} got ${run.id}`);
        if (start.priority !== undefined) history.meet("a start with a priority");
        // Some callers read the outcome at once.
        if (process.random.chance(0.3)) judgeOutcome(cluster, await run.outcome());
      } catch (error) {
        judgeFailure(cluster, process.name, error);
      }
      await process.pause(1_500);
    }
  };
  const boot = (life: ProcessLife): void => {
    for (const start of queue.starts) {
      const wait = Math.max(0, start.at - (scheduler.now - startOfTime));
      void life.process.pause(wait).then(() => begin(life, start));
    }
  };
  return [{ name: "queuer", boot }];
}

function isStarted({ history }: Cluster, { name }: QueuedStart): boolean {
  return history.queued.some(({ start }) => start.name === name);
}

/** True when every start of the queue was acknowledged. */
export function areStarted(cluster: Cluster): boolean {
  return cluster.plan.queue?.starts.every((start) => isStarted(cluster, start)) ?? true;
}
