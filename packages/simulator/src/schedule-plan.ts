/**
 * Schedules in some plans, each with a small workflow of its own. Drawn from a random stream of their own, so that all
 * else in a plan stays as it is. Proven in test/sim-fleet.test.ts.
 */

import { seeded, type Random } from "@durable/testing";
import type { Action, FlowPlan, Plan } from "./plan.ts";
import type { Tree } from "./tree.ts";

/** The same plan, in one of seven with schedules, which an operator pauses, deletes and triggers. */
export function withSchedules(seed: number, plan: Plan): Plan {
  const random = seeded(seed * 2_860_486_313 + 9);
  if (!random.chance(0.15)) return plan;
  const drawn = Array.from({ length: random.pick([1, 1, 2]) }, (_, i) => ({
    name: `nightly-${i}`,
    flow: plan.flows.length + i,
    everyMs: random.pick([5_000, 8_000, 20_000]),
    overlap: random.pick(["skip", "allow", "queue", "cancel"] as const),
    missed: random.pick(["latest", "skip", "all"] as const),
  }));
  const flows = drawn.map(({ name }): FlowPlan => {
    const tree = tickTree(random);
    return { name: `flow-of-${name}`, tree, changed: tree, compatible: true };
  });
  return {
    ...plan,
    flows: [...plan.flows, ...flows],
    schedules: drawn,
    actions: [...plan.actions, ...scheduleActions(random)].toSorted((a, b) => a.at - b.at),
  };
}

/** Some runs are over before the next tick, some are not. */
function tickTree(random: Random): Tree {
  const step = { kind: "step", fails: 0, timeoutMs: null, typed: false } as const;
  return {
    kind: "sequence",
    nodes: [
      { ...step, name: "gather", ms: random.pick([0, 1_000]) },
      { kind: "sleep", name: "rest", ms: random.pick([5, 3_000, 12_000]) },
      { ...step, name: "file", ms: random.pick([0, 4_000]) },
    ],
  };
}

function scheduleActions(random: Random): Action[] {
  const more = (kind: Action["kind"], most: number): Action[] =>
    random.chance(0.5)
      ? []
      : Array.from({ length: random.between(1, most) }, () => ({
          kind,
          at: random.between(2_000, 19_000),
          target: random.between(0, 99),
          ms: random.pick([50, 6_000, 15_000]),
        }));
  return [...more("pause-schedule", 3), ...more("delete-schedule", 1), ...more("trigger-schedule", 2)];
}
