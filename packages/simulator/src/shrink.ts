/**
 * Reduces a plan that breaks an invariant to a small one that still does. Leaves out faults and actions
 * first, then runs, nodes of trees, processes and random settings.
 */

import type { FlowPlan, Plan } from "./plan.ts";
import { simulate, type SimulateOptions, type Simulation } from "./simulate.ts";
import { childrenOf, renamedTree, withChild, type Tree } from "./tree.ts";

/** Options of `shrink`. */
export interface ShrinkOptions extends Pick<SimulateOptions, "programs" | "settled"> {
  /** How long to search, in milliseconds; a minute by default. */
  readonly budgetMs?: number | undefined;
  readonly progress?: ((tries: number, plan: Plan) => void) | undefined;
}

/** The result of `shrink`. */
export interface Shrunk {
  /** The smallest plan found that still fails. */
  readonly plan: Plan;
  /** The last simulation of the plan, with its trace. */
  readonly simulation: Simulation;
  readonly tries: number;
}

/** Makes the plan of a failed simulation smaller, while it still fails. */
export async function shrink(failed: Simulation, options: ShrinkOptions = {}): Promise<Shrunk> {
  const { budgetMs = 60_000, progress, ...context } = options;
  const until = performance.now() + budgetMs;
  const invariant = failed.violations[0]?.invariant;
  let plan: Plan = { ...failed.plan, only: failed.faults };
  let tries = 0;
  let last = failed;
  const fails = async (candidate: Plan): Promise<boolean> => {
    if (performance.now() > until) return false;
    tries += 1;
    const simulation = await simulate({ ...context, plan: candidate, trace: true });
    const { violations, faults } = simulation;
    if (!violations.some((violation) => violation.invariant === invariant)) return false;
    last = simulation;
    // Faults that did not happen are dropped from the list.
    plan = { ...candidate, only: (candidate.only ?? faults).filter((name) => faults.includes(name)) };
    progress?.(tries, plan);
    return true;
  };
  // Listed faults may lead to other draws than drawn ones. Then the list alone does not reproduce the
  // failure.
  if (!(await fails(plan))) plan = failed.plan;
  for (let before = ""; before !== JSON.stringify(plan) && performance.now() < until;) {
    before = JSON.stringify(plan);
    await fewer(plan.only ?? [], (only) => fails({ ...plan, only }));
    await fewer(plan.actions, (actions) => fails({ ...plan, actions }));
    await fewer(plan.runs, async (runs) => runs.length > 0 && fails({ ...plan, runs }));
    const { queue } = plan;
    if (queue !== undefined)
      await fewer(queue.starts, (starts) => fails({ ...plan, queue: { ...queue, starts } }));
    for (let flow = 0; flow < plan.flows.length; flow++) await smallerFlow(flow, () => plan, fails);
    for (const simpler of simplerSettings(plan)) await fails({ ...plan, ...simpler });
  }
  const again = await simulate({ ...context, plan, trace: true });
  // Randomness in a user's code may hide the failure the second time. Then the last failing simulation is
  // returned.
  return { plan, tries, simulation: again.violations.length > 0 ? again : last };
}

/** Leaves out halves, quarters and at last single items, while `fails` is still true. */
async function fewer<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
): Promise<void> {
  let left = items;
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < left.length;) {
      const without = [...left.slice(0, at), ...left.slice(at + size)];
      if (await fails(without)) left = without;
      else at += size;
    }
  }
}

async function smallerFlow(
  index: number,
  current: () => Plan,
  fails: (plan: Plan) => Promise<boolean>,
): Promise<void> {
  for (let found = true; found;) {
    found = false;
    const plan = current();
    const flow = plan.flows[index];
    if (flow === undefined) return;
    const deploys = plan.actions.some(({ kind }) => kind === "deploy");
    const versions = deploys ? smallerVersions(flow) : smaller(flow.tree).map(unchanged(flow));
    for (const version of versions) {
      found = await fails({ ...plan, flows: plan.flows.map((other, i) => (i === index ? version : other)) });
      if (found) break;
    }
  }
}

function unchanged(flow: FlowPlan): (tree: Tree) => FlowPlan {
  return (tree) => ({ ...flow, tree, changed: tree });
}

/** Both versions of a flow get smaller. One that only renames waits still does, or it would no longer fit by design. */
export function smallerVersions(flow: FlowPlan): FlowPlan[] {
  const { tree, changed, compatible } = flow;
  if (JSON.stringify(tree) === JSON.stringify(changed)) return smaller(tree).map(unchanged(flow));
  if (compatible !== undefined)
    return smaller(tree).map((less) => ({ ...flow, tree: less, changed: renamedTree(less, compatible) }));
  return [
    ...smaller(tree).map((less) => ({ ...flow, tree: less })),
    ...smaller(changed).map((less) => ({ ...flow, changed: less })),
  ];
}

/** Trees with one thing less: a node instead of its parent, a child less, or a simpler leaf. */
export function smaller(tree: Tree): Tree[] {
  const children = childrenOf(tree);
  const inner = children.flatMap((child, at) => smaller(child).map((less) => withChild(tree, at, less)));
  const without =
    "nodes" in tree && children.length > 1
      ? children.map((_, at) => ({ ...tree, nodes: tree.nodes.filter((_node, i) => i !== at) }))
      : [];
  return [...children, ...without, ...simplerLeaf(tree), ...inner];
}

function simplerLeaf(tree: Tree): Tree[] {
  switch (tree.kind) {
    case "step": {
      const { large, onUncertain, ...plain } = tree;
      const simpler: Tree[] = [];
      const { compensate, ...kept } = tree;
      if (compensate !== undefined) simpler.push(kept);
      if (tree.ms > 0 || tree.fails > 0 || tree.timeoutMs !== null)
        simpler.push({ ...tree, ms: 0, fails: 0, timeoutMs: null });
      if (large !== undefined) simpler.push(onUncertain === undefined ? plain : { ...plain, onUncertain });
      if (onUncertain !== undefined) simpler.push(large === undefined ? plain : { ...plain, large });
      return simpler;
    }
    case "stream": {
      const { timeoutMs: _, stalls: _s, ...plain } = tree;
      return [{ ...plain, chunks: 1, ms: 0, fails: 0 }, plain, { ...tree, fails: 0 }].filter(
        (simpler) => JSON.stringify(simpler) !== JSON.stringify(tree),
      );
    }
    case "stray":
    case "cleanup":
      return [{ kind: "sequence", nodes: [] }];
    case "foreign":
      return tree.ms > 0 ? [{ ...tree, ms: 0 }] : [];
    case "suspend":
      return tree.mailed ? [{ ...tree, mailed: false }] : [];
    case "loop":
      return tree.times > 1 ? [{ ...tree, times: 1 }] : [];
    case "map":
      return tree.items > 1 ? [{ ...tree, items: tree.items - 1 }] : [];
    default:
      return [];
  }
}

function simplerSettings(plan: Plan): Partial<Plan>[] {
  const { workers, latencyMs, schedule, skews, concurrency } = plan;
  const simpler: Partial<Plan>[] = [];
  if (workers > 1) simpler.push({ workers: workers - 1 });
  if (latencyMs > 0) simpler.push({ latencyMs: 0 });
  if (schedule !== "random") simpler.push({ schedule: "random" });
  if (skews.some((skew) => skew !== 0)) simpler.push({ skews: skews.map(() => 0) });
  if (concurrency > 1) simpler.push({ concurrency: 1 });
  if (plan.encrypted === true) simpler.push({ encrypted: false });
  if ((plan.warm ?? 0) > 0) simpler.push({ warm: 0 });
  if ((plan.readers ?? 0) > 0) simpler.push({ readers: 0 });
  if ((plan.records ?? 0) > 0) simpler.push({ records: 0 });
  if ((plan.strangers ?? 0) > 0) simpler.push({ strangers: 0 });
  if (plan.busy === true) simpler.push({ busy: false });
  if (plan.privateChildren === true) simpler.push({ privateChildren: false });
  if (plan.runs.some(({ starters }) => starters > 1))
    simpler.push({ runs: plan.runs.map((run) => ({ ...run, starters: 1 })) });
  return simpler;
}
