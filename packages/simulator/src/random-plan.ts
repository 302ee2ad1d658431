/** Draws a plan from a seed. Proven in test/sim.test.ts. */

import { seeded, type Random } from "@durable/testing";
import { randomRates } from "./faults.ts";
import { withFleet } from "./fleet-plan.ts";
import { withChapters } from "./random-chapters.ts";
import { withMail } from "./random-messages.ts";
import { purgesOf } from "./random-purges.ts";
import { failsAnswers } from "./failure-answers.ts";
import { withQueue } from "./queue-plan.ts";
import { withFinding } from "./random-finding.ts";
import { randomTree } from "./random-tree.ts";
import { withUndo } from "./random-undo.ts";
import { withSchedules } from "./schedule-plan.ts";
import { steered } from "./steer-plan.ts";
import { changedTree, renamedTree } from "./tree.ts";
import {
  actionKinds,
  spawnedPrefix,
  type Action,
  type ActionKind,
  type FlowPlan,
  type Plan,
  type RunPlan,
} from "./plan.ts";

const minute = 60_000;

/** Draws a plan from a seed. */
export function planOf(seed: number): Plan {
  const plan = withMail(seed, drawnPlan(seed));
  const { purges, deletesTogether } = purgesOf(seed);
  const all = [...plan.actions, ...purges].toSorted((a, b) => a.at - b.at);
  // A stream of its own: the rest of a plan is drawn as if there were no hooks.
  const hooks = seeded(seed * 3_266_489_917 + 5).chance(0.5);
  const failures = failsAnswers(seed, plan.calm);
  const whole = { ...plan, actions: all, deletesTogether, hooks, failures, ...manners(seed) };
  return withFleet(seed, withQueue(seed, withSchedules(seed, whole)));
}

/** How workflows are written, from a stream of its own. */
function manners(seed: number): Pick<Plan, "logs" | "defaults"> {
  const random = seeded(seed * 1_500_450_271 + 17);
  return { logs: random.chance(0.3), defaults: random.chance(0.3) };
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
