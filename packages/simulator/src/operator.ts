/**
 * The actions of a plan: what happens to processes, code, disk and runs at given times. Proven in
 * test/sim.test.ts.
 */

import { answer } from "./answerer.ts";
import { forkRun } from "./fork-requests.ts";
import type { History } from "./history.ts";
import { judgeFailure, judgeOutcome } from "./outcome-checks.ts";
import { inputFor } from "./input-checks.ts";
import type { Action, FlowPlan, RunPlan } from "./plan.ts";
import { purgeOf } from "./random-purges.ts";
import type { RunLog } from "./run-log.ts";
import { isOfSchedule, steerSchedule } from "./schedule-actors.ts";
import { isStrange } from "./stranger-checks.ts";
import { inProcess } from "./surroundings.ts";
import type { ProcessLife, Cluster } from "./cluster.ts";

/** Performs one action of the plan. */
export function performAction(cluster: Cluster, action: Action): void {
  const { history, lives, scheduler } = cluster;
  const { kind, target, ms } = action;
  const life = lives[target % lives.length] as ProcessLife;
  const operator = lives.at(-1) as ProcessLife;
  history.say("plan", `${kind} ${target}`);
  history.meet(`action ${kind}`);
  switch (kind) {
    case "kill":
      return life.process.kill("killed");
    case "terminate":
      life.process.terminate();
      return void scheduler.after(ms, null, () => life.process.kill("ended"));
    case "pause":
      life.process.pausedUntil = scheduler.now + ms;
      history.steady.disturb(life.process.name, 2 * ms);
      return;
    case "set-clock":
      life.process.skewMs += target % 2 === 0 ? ms : -ms;
      return;
    case "deploy":
      cluster.deployed = true;
      return life.process.kill("redeployed");
    case "rotate":
      cluster.rotated = true;
      return;
    case "fill-disk":
      cluster.disk.full = true;
      return void scheduler.after(ms, null, () => {
        cluster.disk.full = false;
      });
    default:
      void inProcess(operator.process.name, () => interfere(cluster, operator, action)).catch(
        (error: unknown) => judgeFailure(cluster, "operator", error),
      );
  }
}

async function interfere(cluster: Cluster, life: ProcessLife, action: Action): Promise<void> {
  const { kind, target, ms } = action;
  const { history } = cluster;
  if (kind === "purge") return purge(life, target);
  if (kind === "pause-workflow") return pauseWorkflow(cluster, life, action);
  if (isOfSchedule(action)) return steerSchedule(cluster, life, action);
  const { of } = action;
  const runs = history.runs.filter((run) => !isStrange(run) && (of === undefined || run.workflow === of));
  const run = runs[target % Math.max(1, runs.length)];
  if (run === undefined || !life.process.alive) return;
  const { app } = life;
  switch (kind) {
    case "cancel":
      return void (await app.cancel(run.runId, { reason: "by hand" }));
    case "delete":
      return app.delete(run.runId);
    case "reuse":
      return reuse(cluster, life, target);
    case "drop-chapters":
      return app.get(run.runId).dropChapters();
    case "pause-run":
      await app.get(run.runId).pause({ reason: "by hand" });
      await life.process.pause(ms);
      return void (await app.get(run.runId).unpause({ drive: target % 2 === 0 }));
    case "retry-run": {
      const failed = runs.filter(({ status, deleted, family }) => status === "failed" && !deleted && !family);
      const chosen = failed[target % Math.max(1, failed.length)];
      if (chosen === undefined) return;
      return void (await app.get(chosen.runId).retry({ drive: target % 2 === 0 }));
    }
    case "advance":
      return judgeOutcome(cluster, await app.advance(run.runId));
    case "fork":
      return void (await forkRun(cluster, life, deepestFork(history, target) ?? run.runId, {
        edit: !cluster.plan.calm && target % 3 === 0,
      }));
    case "storm": {
      const outcome = await app.get(run.runId).outcome();
      const [point] =
        outcome.status === "suspended" ? outcome.waiting.filter(({ topic }) => topic === undefined) : [];
      if (point !== undefined)
        await Promise.all(Array.from({ length: 6 }, () => answer(cluster, life.process, app, point.token)));
      return;
    }
    default:
  }
}

async function pauseWorkflow(
  { plan, history, disk }: Cluster,
  { process, app }: ProcessLife,
  { target, ms }: Action,
): Promise<void> {
  // The last workflow is the one that workers are busy with.
  const { name } = plan.flows.at(target % 2 === 0 ? -1 : target % plan.flows.length) as FlowPlan;
  if (!process.alive || !disk.offers("pause")) return;
  await app.pause(name, { reason: "by hand" });
  history.meet("a paused workflow");
  await process.pause(ms);
  await app.unpause(name);
}

async function purge({ process, app }: ProcessLife, target: number): Promise<void> {
  if (!process.alive) return;
  const { runs, children } = await app.purge(purgeOf(target));
  process.history.say("operator", `purged ${runs} runs and ${children} children`);
}

/** Deletes a run of the plan, and starts another one under its id, with another input. */
async function reuse(cluster: Cluster, { process, app, flows }: ProcessLife, target: number): Promise<void> {
  const { history, plan, programs } = cluster;
  const { id, flow } = plan.runs[target % plan.runs.length] as RunPlan;
  const lives = history.runs.filter(({ runId }) => runId === id);
  const old = lives.at(-1);
  if (old === undefined || old.deleted) return;
  await app.delete(id).catch((error: unknown) => judgeFailure(cluster, process.name, error));
  const { input = inputFor(id, lives.length + 1) } = programs[flow] ?? {};
  for (let tries = 0; tries < 20 && old.deleted && history.run(id) === old; tries++) {
    try {
      await flows[flow]?.start(input, { id });
      history.meet("an id that was used again");
    } catch (error) {
      judgeFailure(cluster, process.name, error);
    }
    await process.pause(700);
  }
}

/** For some targets the run with the most ancestors, so that there are forks of forks of forks. */
function deepestFork(history: History, target: number): string | null {
  if (target % 2 === 0) return null;
  const depth = (run: RunLog): number => history.lineage(run).length;
  const forks = history.runs.filter(({ parent, deleted }) => parent !== null && !deleted);
  return forks.toSorted((a, b) => depth(b) - depth(a))[0]?.runId ?? null;
}

/** Once faults have ended, no run and no workflow stays paused: its operator may have died. */
export function unpauseAll(cluster: Cluster): void {
  const { history, scheduler } = cluster;
  const look = async (): Promise<void> => {
    const operator = cluster.lives.at(-1) as ProcessLife;
    for (const { runId, status, deleted } of history.runs)
      if (status === "paused" && !deleted && operator.process.alive)
        await inProcess(operator.process.name, () => operator.app.get(runId).unpause({ drive: false })).catch(
          (error: unknown) => judgeFailure(cluster, "operator", error),
        );
  };
  const lookAtWorkflows = async (): Promise<void> => {
    const { process, app } = cluster.lives.at(-1) as ProcessLife;
    if (cluster.plan.pauses !== true || !cluster.disk.offers("pause") || !process.alive) return;
    for (const { workflow } of await cluster.disk.paused())
      await inProcess(process.name, () => app.unpause(workflow)).catch((error: unknown) =>
        judgeFailure(cluster, "operator", error),
      );
  };
  // A request that was on its way may still pause a run.
  for (const ms of [1_000, 60_000, 600_000])
    scheduler.after(ms, null, () => {
      void look();
      void lookAtWorkflows();
    });
}
