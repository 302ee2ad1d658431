/**
 * Deadlines, pauses and retries of generated plans. Drawn from a random stream of their own, so that all else in a plan
 * stays as it is. Proven in test/sim.test.ts.
 */

import { seeded } from "../random.ts";
import type { Action, FlowPlan, RunPlan } from "./plan.ts";
import { childrenOf, withChild, type Tree } from "./tree.ts";

interface Steered {
  readonly flows: readonly FlowPlan[];
  readonly runs: readonly RunPlan[];
  readonly actions: readonly Action[];
}

/** The same plan, in which some groups and runs have deadlines, and an operator pauses and retries runs. */
export function steered(seed: number, calm: boolean, plan: Steered): Steered {
  const random = seeded(seed * 2_971_215_073 + 3);
  const lengths = new Map<string, number | undefined>();
  const has = !calm && random.chance(0.25);
  // By name, so that both versions of the code have the same ones.
  const lengthOf = (name: string): number | undefined => {
    const known = random.chance(0.4) ? random.pick([30, 1_500, 40_000]) : undefined;
    if (!lengths.has(name)) lengths.set(name, known);
    return lengths.get(name);
  };
  const runs = plan.runs.map((run) =>
    has && random.chance(0.3) ? { ...run, deadlineMs: random.pick([2_000, 30_000, 200_000]) } : run,
  );
  const more = (kind: Action["kind"], most: number): Action[] =>
    random.chance(0.7)
      ? []
      : Array.from({ length: random.between(1, most) }, () => ({
          kind,
          at: random.between(500, 19_000),
          target: random.between(0, 99),
          ms: random.pick([50, 2_000, 10_000]),
        }));
  return {
    flows: has ? plan.flows.map((flow) => withDeadlines(flow, lengthOf)) : plan.flows,
    runs,
    actions: [...plan.actions, ...more("pause-run", 3), ...more("retry-run", 4)],
  };
}

function withDeadlines(flow: FlowPlan, lengthOf: (name: string) => number | undefined): FlowPlan {
  return { ...flow, tree: bounded(flow.tree, lengthOf), changed: bounded(flow.changed, lengthOf) };
}

function bounded(tree: Tree, lengthOf: (name: string) => number | undefined): Tree {
  const inner = childrenOf(tree).reduce(
    (found, child, at) => withChild(found, at, bounded(child, lengthOf)),
    tree,
  );
  if (inner.kind !== "parallel" && inner.kind !== "race" && inner.kind !== "child" && inner.kind !== "map")
    return inner;
  const deadlineMs = lengthOf(`${inner.kind} ${inner.name}`);
  return deadlineMs === undefined ? inner : { ...inner, deadlineMs };
}
