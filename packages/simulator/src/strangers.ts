/**
 * Runs of a workflow that no worker here has. They stay due for as long as the simulation lasts: workers must
 * leave them alone, and reach their own runs behind them. Proven by the planted bugs of `npm run sim:mutants`.
 */

import { createApp, durable } from "@durable/core";
import type { Actor, Cluster, ProcessLife } from "./cluster.ts";
import { judgeFailure } from "./outcome-checks.ts";
import { strangeWorkflow } from "./stranger-checks.ts";

/** Another program on the same storage. It records runs of its own, and drives none of them. */
export function stranger(cluster: Cluster, count: number): Actor {
  const { history } = cluster;
  const boot = async ({ process, options }: ProcessLife): Promise<void> => {
    const app = createApp({
      ...options,
      workflows: [durable(strangeWorkflow, () => "never")],
      bind: false,
    });
    const ids = Array.from({ length: count }, (_, i) => `strange-${i}`);
    for (const id of ids.filter((other) => history.run(other) === undefined)) {
      try {
        await app.start(strangeWorkflow, null, { id, drive: false });
        history.meet("a run of a workflow that no worker has");
      } catch (error) {
        judgeFailure(cluster, process.name, error);
      }
    }
  };
  return { name: "stranger", boot: (life) => void boot(life) };
}
