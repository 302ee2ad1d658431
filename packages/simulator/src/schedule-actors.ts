/**
 * The processes that define, steer and end the schedules of a plan. Proven in test/sim-fleet.test.ts.
 */

import type { Actor, Cluster, ProcessLife } from "./cluster.ts";
import { isExempt } from "./exemptions.ts";
import { inputFor } from "./input-checks.ts";
import { judgeFailure } from "./outcome-checks.ts";
import type { Action, SchedulePlan } from "./plan.ts";
import { inProcess } from "./surroundings.ts";

/** The longest time that a request may still be under way after faults have ended. */
const underWayMs = 100_000;

/** The schedules of a plan; none where the storage keeps none. */
function schedulesOf({ plan, disk }: Cluster): readonly SchedulePlan[] {
  return disk.schedules === undefined ? [] : (plan.schedules ?? []);
}

/** Defines every schedule when its process starts, as a program should. */
export function plannersOf(cluster: Cluster): Actor[] {
  const schedules = schedulesOf(cluster);
  const define = async ({ process, app, flows }: ProcessLife, one: SchedulePlan): Promise<void> => {
    const { name, flow, everyMs: every, overlap, missed } = one;
    while (!cluster.schedulesEnd) {
      try {
        const workflow = flows[flow] as (typeof flows)[number];
        await app.schedule(name, workflow, { every, overlap, missed, input: inputFor(name) });
        return cluster.history.meet("a schedule that was defined");
      } catch (error) {
        judgeFailure(cluster, process.name, error);
      }
      await process.pause(1_500);
    }
  };
  const boot = (life: ProcessLife): void => schedules.forEach((one) => void define(life, one));
  return schedules.length === 0 ? [] : [{ name: "planner", boot }];
}

/** True for an action on a schedule. */
export function isOfSchedule({ kind }: Action): boolean {
  return kind.endsWith("-schedule");
}

export async function steerSchedule(cluster: Cluster, life: ProcessLife, action: Action): Promise<void> {
  const { kind, target, ms } = action;
  const all = schedulesOf(cluster);
  const name = all[target % Math.max(1, all.length)]?.name;
  if (name === undefined || !life.process.alive) return;
  const { schedules } = life.app;
  if (kind === "delete-schedule") return schedules.delete(name);
  if (kind === "trigger-schedule") return void (await schedules.trigger(name));
  await schedules.pause(name);
  await life.process.pause(ms);
  await schedules.unpause(name);
}

/** Once faults have ended, schedules must go on. Then they are deleted, so that the simulation can end. */
export function endSchedules(cluster: Cluster): void {
  const { scheduler, disk, history } = cluster;
  const names = schedulesOf(cluster).map(({ name }) => name);
  const healedAt = scheduler.now;
  if (names.length === 0) return;
  const look = async (): Promise<void> => {
    const behind = disk.schedules?.behind(names, healedAt, (run) => isExempt(history, run)) ?? [];
    cluster.schedulesEnd ||= behind.length === 0;
    cluster.behind = behind;
    const { process, app } = cluster.lives.at(-1) as ProcessLife;
    if (cluster.schedulesEnd)
      for (const name of disk.schedules?.names ?? [])
        await inProcess(process.name, () => app.schedules.delete(name)).catch((error: unknown) =>
          judgeFailure(cluster, process.name, error),
        );
    if (!cluster.closed && !haveEnded(cluster, healedAt)) scheduler.after(2_000, null, () => void look());
    else if (!cluster.closed) cluster.behind = [];
  };
  cluster.behind = names;
  // They go on for a while first, so that a tick can come in time.
  scheduler.after(30_000, null, () => void look());
}

/** A request that was on its way may still define a schedule. */
function haveEnded({ schedulesEnd, disk, scheduler }: Cluster, healedAt: number): boolean {
  return schedulesEnd && disk.schedules?.names.length === 0 && scheduler.now > healedAt + underWayMs;
}

/** True when no schedule starts another run. */
export function areOut(cluster: Cluster): boolean {
  return schedulesOf(cluster).length === 0 || (cluster.schedulesEnd && cluster.behind.length === 0);
}
