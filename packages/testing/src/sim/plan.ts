/**
 * A whole simulation as data: workflows, processes, faults and actions. A plan is made from a seed, can be
 * saved, shrunk and run again, and always gives the same history. Proven in test/sim.test.ts.
 */

import { seeded, type Random } from "../random.ts";
import { randomRates, type Rates } from "./faults.ts";
import { withFleet, type Share } from "./fleet-plan.ts";
import { withChapters } from "./random-chapters.ts";
import { withMail } from "./random-messages.ts";
import { purgesOf } from "./random-purges.ts";
import { failsAnswers } from "./failure-answers.ts";
import { withFinding } from "./random-finding.ts";
import { randomTree } from "./random-tree.ts";
import { withUndo } from "./random-undo.ts";
import { withSchedules, type SchedulePlan } from "./schedule-plan.ts";
import { steered } from "./steer-plan.ts";
import { changedTree, renamedTree, type Tree } from "./tree.ts";

export interface FlowPlan {
  readonly name: string;
  readonly tree: Tree;
  /** The same workflow in a later version of the code. */
  readonly changed: Tree;
  /** The later version differs only in the names of waits, and gives the old names. */
  readonly compatible?: boolean;
}

export interface RunPlan {
  readonly id: string;
  readonly flow: number;
  readonly at: number;
  /** How many callers start this run at the same time. */
  readonly starters: number;
  /** The deadline of the run; none if missing. */
  readonly deadlineMs?: number;
  /** True when its caller leaves it to workers. */
  readonly left?: boolean;
}

export const actionKinds = [
  "kill",
  "pause",
  "terminate",
  "set-clock",
  "deploy",
  "rotate",
  "fill-disk",
  "cancel",
  "fork",
  "delete",
  "advance",
  "storm",
  "reuse",
  "drop-chapters",
  "purge",
  "pause-run",
  "retry-run",
  "pause-workflow",
  "pause-schedule",
  "delete-schedule",
  "trigger-schedule",
] as const;
export type ActionKind = (typeof actionKinds)[number];

/** An action at a time, on the process or run with this number. */
export interface Action {
  readonly kind: ActionKind;
  readonly at: number;
  readonly target: number;
  readonly ms: number;
}

/** Everything that a simulation does, drawn from a seed. */
export interface Plan {
  readonly seed: number;
  /**
   * True when nothing in the workflows depends on time or order, so that their output is known beforehand.
   */
  readonly calm: boolean;
  /** Some workflows await timers that are not from `ctx`. */
  readonly foreign?: boolean;
  readonly flows: readonly FlowPlan[];
  readonly runs: readonly RunPlan[];
  readonly workers: number;
  /** Due runs are found by sweeps instead of workers. */
  readonly sweeps: boolean;
  readonly intervalMs: number;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly patienceMs: number;
  /** True when the storage reports changes; otherwise drivers poll. */
  readonly notifies: boolean;
  /** True when the storage shares due runs between workers; if missing, they list due runs and compete. */
  readonly claims?: boolean;
  /** True when the storage announces due runs to workers; if missing, they poll. */
  readonly announces?: boolean;
  /** The share of these notices that is lost; none if missing. */
  readonly lostNotices?: number;
  /** Who goes first: chosen at random, or by priorities that change a few times. */
  readonly schedule: "random" | "priorities";
  /** The longest time that a message takes, in milliseconds. */
  readonly latencyMs: number;
  /** By how much the clock of each process is wrong. */
  readonly skews: readonly number[];
  /** Time passes while processes compute, and sometimes more than a lease lasts; if missing, it stands still. */
  readonly busy?: boolean;
  readonly rates: Rates;
  readonly actions: readonly Action[];
  readonly healAt: number;
  /** The deployed code stays when faults end; runs that do not fit it stay blocked. */
  readonly keepsCode: boolean;
  /** True when runs are encrypted. */
  readonly encrypted?: boolean;
  /** How many parked runs a process keeps in memory; none if missing. */
  readonly warm?: number;
  /** Processes that send messages; none if missing. */
  readonly senders?: number;
  /** Processes that read streams; none if missing. */
  readonly readers?: number;
  /** Keys of a journal without a workflow, into which two processes record; no such journal if missing. */
  readonly records?: number;
  /** Runs of a workflow that no worker has; none if missing. */
  readonly strangers?: number;
  /** True when a purge deletes runs together, each only if it is unchanged; if missing, one by one. */
  readonly deletesTogether?: boolean;
  /**
   * True when apps do not have the workflows of children, so that only their parents' drivers can drive them.
   */
  readonly privateChildren?: boolean;
  /** How many runs of a workflow are driven at the same time; no limit if missing. */
  readonly slots?: number;
  /** True when some answers are failures. */
  readonly failures?: boolean;
  /** True when processes have hooks, some of which fail; none if missing. */
  readonly hooks?: boolean;
  /** Schedules, which start runs of workflows of their own; none if missing. */
  readonly schedules?: readonly SchedulePlan[];
  /** What workers are kept to; each takes all runs if missing. */
  readonly share?: Share;
  /** True when an operator pauses workflows. */
  readonly pauses?: boolean;
  /** Only these network faults happen, by name; if missing, all that are drawn. */
  readonly only?: readonly string[];
}

const minute = 60_000;

/** Draws a plan from a seed. */
export function planOf(seed: number): Plan {
  const plan = withMail(seed, drawnPlan(seed));
  const { purges, deletesTogether } = purgesOf(seed);
  const all = [...plan.actions, ...purges].toSorted((a, b) => a.at - b.at);
  // A stream of its own: the rest of a plan is drawn as if there were no hooks.
  const hooks = seeded(seed * 3_266_489_917 + 5).chance(0.5);
  const failures = failsAnswers(seed, plan.calm);
  return withFleet(seed, withSchedules(seed, { ...plan, actions: all, deletesTogether, hooks, failures }));
}

function drawnPlan(seed: number): Plan {
  const random = seeded(seed * 2_654_435_761);
  const calm = random.chance(0.3);
  const foreign = !calm && random.chance(0.12);
  const strays = !calm && random.chance(0.08);
  const { flows, chapters } = drawnFlows(random, { seed, calm, foreign, strays });
  const runs: RunPlan[] = Array.from({ length: random.between(1, 4) }, (_, i) => ({
    id: `run-${i}`,
    flow: random.between(0, flows.length - 1),
    at: random.between(0, 4_000),
    starters: random.pick([1, 1, 1, 2, 3]),
  }));
  // Some plans have a run that kills its drivers, and the other runs must still end.
  if (random.chance(0.04)) {
    flows.push(killer);
    runs.push({ id: "run-killer", flow: flows.length - 1, at: 500, starters: 1 });
  }
  const workers = random.between(1, 4);
  const skewed = random.chance(0.25);
  const plan: Plan = {
    seed,
    calm,
    foreign,
    flows,
    runs,
    workers,
    sweeps: random.chance(0.15),
    intervalMs: random.pick([1_000, 2_000, 5_000]),
    concurrency: random.pick([1, 3, 10]),
    leaseMs: random.pick([4_000, 30_000]),
    patienceMs: random.pick([0, 500, 60_000]),
    notifies: random.chance(0.5),
    ...fleetOf(seed),
    ...slotsOf(seed),
    schedule: random.chance(0.2) ? "priorities" : "random",
    latencyMs: random.pick([0, 3, 40]),
    skews: Array.from({ length: workers + 6 }, () => (skewed ? random.between(-300, 300) * 1_000 : 0)),
    rates: randomRates(random),
    actions: [...actions(random), ...(chapters === null ? [] : drops(chapters))].toSorted(
      (a, b) => a.at - b.at,
    ),
    healAt: random.pick([20_000, minute]),
    keepsCode: random.chance(0.5),
    encrypted: random.chance(0.15),
    warm: random.pick([0, 0, 1, 100]),
    readers: random.pick([0, 1]),
    records: random.chance(0.2) ? random.between(2, 5) : 0,
    privateChildren: random.chance(0.3),
    busy: random.chance(0.15),
    strangers: random.chance(0.06) ? random.pick([3, 130]) : 0,
  };
  const { steering, ...more } = steered(seed, calm || foreign || strays, plan);
  return { ...plan, ...more, actions: [...plan.actions, ...steering].toSorted((a, b) => a.at - b.at) };
}

/** The workflows of a plan, and the random stream of their chapters, if they have some. */
function drawnFlows(
  random: Random,
  { seed, ...kind }: { readonly seed: number; calm: boolean; foreign: boolean; strays: boolean },
): { flows: FlowPlan[]; chapters: Random | null } {
  const { calm, foreign, strays } = kind;
  let children = 0;
  const childName = (): string => `helper-${++children}`;
  const drawn = Array.from({ length: random.pick([1, 1, 2]) }, (_, i): FlowPlan => {
    const size = random.between(5, random.pick([10, 20, 40]));
    const tree = randomTree(random, { calm, size, childName, foreign, strays });
    const name = `flow-${i}`;
    if (random.chance(0.75)) return { name, tree, changed: changedTree(random, tree) };
    const compatible = random.chance(0.5);
    return { name, tree, changed: renamedTree(tree, compatible), compatible };
  });
  // A stream of its own: plans without chapters are drawn as if there were none.
  const others = seeded(seed * 2_246_822_519 + 1);
  const continues = !foreign && !strays && others.chance(0.35);
  const chaptered = continues ? drawn.map((flow) => withChapters(others, flow, { calm, childName })) : drawn;
  const flows = withUndo(seed, found(seed, chaptered));
  return { flows, chapters: continues ? others : null };
}

/** Workflows that are spawned have such a name, and every app has them. */
export const spawnedPrefix = "spawned-";

/** Tags and spawned runs in some plans, from a stream of their own. */
function found(seed: number, flows: readonly FlowPlan[]): FlowPlan[] {
  const random = seeded(seed * 1_640_531_527 + 3);
  if (!random.chance(0.3)) return [...flows];
  let spawned = 0;
  return flows.map((flow) => withFinding(random, flow, () => `${spawnedPrefix}${flow.name}-${++spawned}`));
}

/** A stream of its own, so that older seeds keep the rest of their plans. */
function fleetOf(seed: number): Pick<Plan, "claims" | "announces" | "lostNotices"> {
  const random = seeded(seed * 3_266_489_917 + 2);
  return {
    claims: random.chance(0.7),
    announces: random.chance(0.6),
    lostNotices: random.pick([0, 0, 0.3, 1]),
  };
}

const killer: FlowPlan = {
  name: "killer",
  tree: { kind: "killer", name: "explode" },
  changed: { kind: "killer", name: "explode" },
};

/** Kinds that are drawn from streams of their own. */
const later: ReadonlySet<ActionKind> = new Set<ActionKind>([
  "drop-chapters",
  "pause-run",
  "retry-run",
  "purge",
  "pause-workflow",
  "pause-schedule",
  "delete-schedule",
  "trigger-schedule",
]);

/** Draws the actions. Each kind is used in some plans only, because constant noise hides rare cases. */
function actions(random: Random): Action[] {
  const most: Partial<Record<ActionKind, number>> = { kill: 6, pause: 4, fork: 5, advance: 8, storm: 4 };
  return actionKinds
    .filter((kind) => !later.has(kind) && random.chance(0.35))
    .flatMap((kind) =>
      Array.from({ length: random.between(1, most[kind] ?? 1) }, () => ({
        kind,
        at: random.between(0, 19_000),
        target: random.between(0, 99),
        ms: random.pick([50, 2_000, 10_000, 45_000]),
      })),
    )
    .toSorted((a, b) => a.at - b.at);
}

/** In some plans with chapters, earlier ones are dropped while runs go on. */
function drops(random: Random): Action[] {
  if (random.chance(0.7)) return [];
  return Array.from({ length: random.between(1, 4) }, () => ({
    kind: "drop-chapters",
    at: random.between(1_000, 19_000),
    target: random.between(0, 99),
    ms: 0,
  }));
}

/** How many runs of a workflow are driven at the same time, in some plans. A stream of its own (see `fleetOf`). */
function slotsOf(seed: number): Pick<Plan, "slots"> {
  const random = seeded(seed * 668_265_263 + 5);
  return random.chance(0.15) ? { slots: random.pick([1, 1, 2]) } : {};
}
