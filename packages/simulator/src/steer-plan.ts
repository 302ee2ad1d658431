/**
 * Deadlines, pauses and retries of generated plans. Drawn from a random stream of their own, so that all else in a plan
 * stays as it is. Proven in test/sim.test.ts.
 */

import { seeded } from "@durable/testing";
import { childrenOf, withChild, type Tree } from "./tree.ts";

/** A workflow in two versions. */
interface Versions {
  readonly tree: Tree;
  readonly changed: Tree;
}

interface SteerAction {
  readonly kind: "pause-run" | "retry-run";
  readonly at: number;
  readonly target: number;
  readonly ms: number;
}

interface Steered<F, R> {
  readonly flows: readonly F[];
  readonly runs: readonly R[];
}

/** The same plan, in which some groups and runs have deadlines, and an operator pauses and retries runs. */
export function steered<F extends Versions, R extends object>(
  seed: number,
  calm: boolean,
  plan: Steered<F, R>,
): Steered<F, R & { readonly deadlineMs?: number }> & { readonly steering: readonly SteerAction[] } {
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
  const more = (kind: SteerAction["kind"], most: number): SteerAction[] =>
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
    steering: [...more("pause-run", 3), ...more("retry-run", 4)],
  };
}

function withDeadlines<F extends Versions>(flow: F, lengthOf: (name: string) => number | undefined): F {
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
