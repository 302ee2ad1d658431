/**
 * One seed, one history: workers, callers and a failing storage on one virtual clock. Then faults end, every
 * run must end, and the history is checked. Proven in test/sim.test.ts.
 */

import type { Storage } from "@durable/core";
import { seeded } from "@durable/testing";
import { actorsOf } from "./actors.ts";
import { Disk } from "./disk.ts";
import { performAction, unpauseAll } from "./operator.ts";
import { History, type TraceLine, type Violation } from "./history.ts";
import { isOpen } from "./run-log.ts";
import { isExempt } from "./exemptions.ts";
import { judge } from "./final-checks.ts";
import { cleanUpMsOf, findingMsOf, hasKiller } from "./lateness.ts";
import { Network } from "./network.ts";
import type { Plan } from "./plan.ts";
import { treePrograms, type Program } from "./program.ts";
import { planOf } from "./random-plan.ts";
import { areStarted } from "./queue-actors.ts";
import { areRecorded } from "./recorders.ts";
import { areOut, endSchedules } from "./schedule-actors.ts";
import { Scheduler } from "./scheduler.ts";
import type { Bounds } from "./steadiness.ts";
import { isStray } from "./stray-checks.ts";
import { startOfTime, Cluster } from "./cluster.ts";

/** Options of `simulate`. */
export interface SimulateOptions {
  readonly seed?: number | undefined;
  /** A plan to use instead of one drawn from the seed. */
  readonly plan?: Plan | undefined;
  /** Workflows to run instead of those of the plan. */
  readonly programs?: readonly Program[] | undefined;
  /** Resolves when nothing outside of virtual time is under way; called after every event. */
  readonly settled?: (() => Promise<unknown>) | undefined;
  /** True keeps every event for `eventTable`. */
  readonly trace?: boolean | undefined;
  /**
   * Handles on one storage, which must settle every request in the turn it comes in; requests go to the
   * handles in turn. A `MemoryStorage` by default.
   */
  readonly open?: ((now: () => number) => readonly Storage[]) | undefined;
}

/** The result of a simulation. */
export interface Simulation {
  readonly plan: Plan;
  /** Invariants that were broken; empty when all held. */
  readonly violations: readonly Violation[];
  /** Which situations occurred, and how often. */
  readonly met: ReadonlyMap<string, number>;
  /** Network faults that happened, by name. */
  readonly faults: readonly string[];
  /** Requests to the storage before faults end, by name: where a fault can be put. */
  readonly requests: readonly string[];
  readonly events: number;
  readonly runs: number;
  readonly bodies: number;
  readonly trace: readonly TraceLine[];
}

/** How long runs may take to end after faults have ended; sleeps last at most 90 s, and loops are short. */
const patienceMs = 4 * 3_600_000;
const [longSliceMs, shortSliceMs] = [2 * 60_000, 20_000];
const mostEvents = 400_000;

/**
 * Simulates one history: generated workflows, several processes, faults and crashes in virtual time, checked
 * against invariants.
 */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const drawn = options.plan ?? planOf(options.seed ?? 1);
  const random = seeded(drawn.seed ^ 0x5bd1e995);
  const scheduler = new Scheduler({
    start: startOfTime,
    random,
    ...(options.settled === undefined ? {} : { settled: options.settled }),
    changePoints: drawn.schedule === "priorities" ? [1, 2, 3].map(() => random.between(1, 3_000)) : [],
  });
  const history = new History(() => scheduler.now, { traced: options.trace === true, ...traitsOf(drawn) });
  const slackMs = slackOf(drawn);
  const disk = new Disk(history, {
    now: () => scheduler.now,
    timer: (ms, fire) => scheduler.after(ms, null, fire),
    slackMs,
    open: options.open,
  });
  const plan = disk.limits === undefined ? unlimited(drawn) : drawn;
  const network = new Network(disk, plan);
  const programs = options.programs ?? programsOf(plan);
  for (const { name, isPrivate } of programs) {
    history.observed.add(name);
    if (isPrivate !== true) history.known.add(name);
  }
  const cluster = new Cluster({ plan, scheduler, history, disk, network, programs, slackMs });
  const unhandled = (error: unknown): void => {
    if (!isStray(error)) history.violate("I11", `unhandled rejection: ${String(error)}`);
  };
  process.on("unhandledRejection", unhandled);
  const restore = guardChance(history);
  try {
    cluster.start(actorsOf(cluster));
    for (const action of plan.actions) scheduler.after(action.at, null, () => performAction(cluster, action));
    const lastAction = startOfTime + Math.max(0, ...plan.actions.map(({ at }) => at));
    const calm = (): boolean =>
      history.violations.length > 0 || (scheduler.now > lastAction && isOver(cluster));
    await scheduler.run(calm, startOfTime + plan.healAt, mostEvents);
    // One violation is enough, because later ones may only follow from it.
    if (history.violations.length === 0) await heal(cluster);
    if (history.violations.length === 0) await judge(cluster);
  } finally {
    restore();
    process.off("unhandledRejection", unhandled);
  }
  return {
    plan: drawn,
    violations: history.violations,
    met: history.met,
    faults: network.happened,
    requests: network.requests,
    events: scheduler.fired,
    runs: history.runs.length,
    bodies: history.bodies.length,
    trace: history.trace ?? [],
  };
}

/** What the checks know of a plan. */
function traitsOf(plan: Plan): {
  readonly sealed: boolean;
  readonly foreign: boolean;
  readonly clocksMove: boolean;
  readonly codeChanges: boolean;
  readonly bounds: Bounds;
} {
  const { encrypted, foreign, actions, busy, sweeps, leaseMs } = plan;
  return {
    bounds: {
      isBusy: busy === true,
      isPunctual: busy !== true && !sweeps && !hasKiller(plan),
      foundWithinMs: findingMsOf(plan, slackOf(plan)),
      settledMs: 3 * leaseMs + 30_000,
      cleanUpMs: cleanUpMsOf(plan, slackOf(plan)),
    },
    sealed: encrypted === true,
    foreign: foreign === true,
    clocksMove: actions.some(({ kind }) => kind === "set-clock"),
    codeChanges: actions.some(({ kind }) => kind === "deploy"),
  };
}

/** A bucket refuses limits, so its runs have none. */
function unlimited(plan: Plan): Plan {
  const { slots: _, queue: _queue, ...others } = plan;
  return others;
}

/** The workflows of the plan, in its order, then those of their children. */
function programsOf(plan: Plan): Program[] {
  const families = plan.flows.map((flow) => treePrograms(flow, plan));
  return [
    ...families.flatMap((family) => family.slice(0, 1)),
    ...families.flatMap((family) => family.slice(1)),
  ];
}

/** Law 11: the library draws randomness only from its world. */
function guardChance(history: History): () => void {
  const { random } = Math;
  Math.random = () => {
    if (/[\\/]core[\\/](src|dist)[\\/]/.test(new Error("who").stack?.split("\n")[2] ?? ""))
      history.violate("I11", "the library used Math.random instead of its world");
    return random();
  };
  return () => {
    Math.random = random;
  };
}

/** Ends the faults, restarts every process, and requires that all runs end. */
async function heal(cluster: Cluster): Promise<void> {
  const { scheduler, history, network, disk } = cluster;
  history.say("plan", "faults end");
  history.steady.healedAt = scheduler.now;
  network.healed = true;
  disk.full = false;
  cluster.restart();
  unpauseAll(cluster);
  endSchedules(cluster);
  const how = await toTheEnd(cluster);
  if (history.violations.length > 0) return;
  if (how !== "done") {
    const open = history.runs.filter((run) => isOpen(run) && !isExempt(history, run));
    const list = open.map(({ runId, status }) => `${runId} ${status}`).join(", ");
    if (cluster.behind.length > 0)
      history.violate("I31", `schedules are behind: ${cluster.behind.join("; ")}`);
    history.violate(
      "I4",
      `${how === "busy" ? "too many events" : "stranded"}: ${list || "runs were never started"}`,
    );
  }
  cluster.closed = true;
  for (const { process } of cluster.lives) process.terminate();
  // Starters and answerers end only when they are terminated.
  await scheduler.run(() => false, scheduler.now + 10 * 60_000, mostEvents);
  const left = scheduler.pending();
  if (how === "done" && left > 0) history.violate("I11", `${left} timers are left after the end`);
}

/** Skips long sleeps, because nothing happens before the first of them ends. */
async function toTheEnd(cluster: Cluster): Promise<string> {
  const { scheduler, history } = cluster;
  // Seeds of generated workflows keep their histories.
  const sliceMs = cluster.plan.flows.length === 0 ? shortSliceMs : longSliceMs;
  for (let waited = 0; ; waited += sliceMs) {
    const over = (): boolean => history.violations.length > 0 || isOver(cluster);
    const how = await scheduler.run(over, scheduler.now + sliceMs, mostEvents);
    if (how !== "late" || waited >= patienceMs) return how;
    const next = history.nextWake();
    if (next === null || next <= scheduler.now + sliceMs) continue;
    scheduler.skipTo(next);
    // A run may be driven before its time, by a process whose clock is ahead: the skip takes its lease.
    for (const { process } of cluster.lives) history.steady.disturb(process.name);
  }
}

/** True when no run is open, apart from exempt ones. */
function isQuiet({ history }: Cluster): boolean {
  return history.open === 0 || history.runs.every((run) => !isOpen(run) || isExempt(history, run));
}

/** True when every run of the plan exists and none is open. */
function isOver(cluster: Cluster): boolean {
  const { history, plan } = cluster;
  return (
    isQuiet(cluster) &&
    areRecorded(cluster) &&
    areOut(cluster) &&
    areStarted(cluster) &&
    plan.runs.every(({ id }) => history.run(id) !== undefined)
  );
}

/** The largest difference between two clocks. */
function slackOf({ skews, actions }: Plan): number {
  const steps = actions.filter(({ kind }) => kind === "set-clock").reduce((sum, { ms }) => sum + ms, 0);
  return 2 * (Math.max(0, ...skews.map(Math.abs)) + steps);
}
