/**
 * Workers that share runs by workflow or by version, and workflows that an operator pauses, in some plans. Drawn from a
 * random stream of their own, so that all else in a plan stays as it is. Proven in test/sim-fleet.test.ts.
 */

import type { WorkerOptions } from "@durable/core";
import { seeded, type Random } from "@durable/testing";
import type { Action, Plan, Share } from "./plan.ts";
import type { Tree } from "./tree.ts";

/** The same plan, in some cases with such workers and pauses. */
export function withFleet(seed: number, plan: Plan): Plan {
  const random = seeded(seed * 2_376_512_323 + 11);
  const drawn: readonly (Share | null)[] = ["workflows", "versions", null, null, null, null, null, null];
  const share = random.pick(drawn);
  const pauses: Action[] = random.chance(0.88)
    ? []
    : Array.from({ length: random.between(2, 6) }, () => ({
        kind: "pause-workflow",
        // Most runs are under way then.
        at: random.between(200, 9_000),
        target: random.between(0, 99),
        ms: random.pick([300, 3_000, 12_000]),
      }));
  // Workers that differ in nothing share nothing.
  const deploys: Action[] =
    share === "versions" && random.chance(0.7)
      ? [{ kind: "deploy", at: random.between(1_000, 15_000), target: random.between(0, 99), ms: 0 }]
      : [];
  return {
    ...(pauses.length === 0 ? plan : withSteady(plan, random)),
    ...(share === null || plan.sweeps ? {} : { share }),
    actions: [...plan.actions, ...pauses, ...deploys].toSorted((a, b) => a.at - b.at),
  };
}

/** The same plan with runs that workers are busy with for a while, so that a pause meets them. */
function withSteady(plan: Plan, random: Random): Plan {
  const step = { kind: "step", fails: 0, timeoutMs: null, typed: false } as const;
  const nodes = Array.from({ length: 5 }, (_, i) => ({
    ...step,
    name: `turn ${i}`,
    ms: random.pick([300, 2_000]),
  }));
  const tree: Tree = { kind: "sequence", nodes };
  const runs = Array.from({ length: random.between(1, 3) }, (_, i) => ({
    id: `run-steady-${i}`,
    flow: plan.flows.length,
    at: random.between(0, 5_000),
    starters: 1,
    left: true,
  }));
  return {
    ...plan,
    flows: [...plan.flows, { name: "flow-of-turns", tree, changed: tree, compatible: true }],
    runs: [...plan.runs, ...runs],
    pauses: true,
  };
}

/** What a worker is kept to. Every workflow has a worker; once faults have ended, every version has all of them. */
export function keptTo(
  { share, workers }: Plan,
  worker: { readonly number: number; readonly code: string; readonly workflows: readonly string[] },
  healed: boolean,
): Pick<WorkerOptions, "workflows" | "versions"> {
  if (share === "versions") return healed ? {} : { versions: [worker.code] };
  const own = worker.workflows.filter((_, at) => at % workers === worker.number);
  return share === undefined || own.length === 0 ? {} : { workflows: own };
}
