/**
 * Workflows that undo what they did: in some plans, steps of some names have a compensation, and clean-ups are
 * registered. Draws from a random stream of its own, so that all else in a plan stays as it is. Proven in
 * test/sim.test.ts.
 */

import { seeded, type Random } from "@durable/testing";
import { childrenOf, withChild, type Tree } from "./tree.ts";

/** How a step is undone: how long it takes, and how many attempts fail; 9 for one that always fails. */
type UndoPlan = NonNullable<Extract<Tree, { kind: "step" }>["compensate"]>;

const names = ["plan", "draft", "check", "file", "pay"] as const;

/** The same workflows, each in two versions, with what undoes them; in most plans they stay as they are. */
export function withUndo<V extends { readonly name: string; readonly tree: Tree; readonly changed: Tree }>(
  seed: number,
  flows: readonly V[],
): V[] {
  const random = seeded(seed * 1_640_531_527 + 4);
  if (random.chance(0.65)) return [...flows];
  // By name, so that both versions of the code undo the same steps.
  const undone = new Map(
    names
      .filter(() => random.chance(0.5))
      .map((name) => [name, { ms: random.pick([0, 5, 700]), fails: random.pick([0, 0, 0, 1, 9]) }]),
  );
  const cleansUp = random.chance(0.7) ? { ms: random.pick([0, 60, 3_000]), late: random.chance(0.5) } : null;
  const slow = random.chance(0.5) ? slowness(random) : {};
  const hasChild = random.chance(0.3);
  return flows.map((flow) => {
    const node = hasChild ? { node: helper(`helper-tidies-${flow.name}`) } : {};
    const own = cleansUp && { ...cleansUp, ...slow, ...node };
    const change = (tree: Tree): Tree => registered(undoing(tree, undone, own), own);
    return { ...flow, tree: change(flow.tree), changed: change(flow.changed) };
  });
}

/** A clean-up that parks, and may take longer than its time. */
function slowness(random: Random): Pick<CleansUp, "sleepMs" | "timeoutMs"> {
  return {
    ...(random.chance(0.7) ? { sleepMs: random.pick([5, 4_000, 300_000]) } : {}),
    ...(random.chance(0.5) ? { timeoutMs: random.pick([1_500, 20_000]) } : {}),
  };
}

function helper(name: string): Tree {
  const step = { kind: "step", name: "help", ms: 300, fails: 0, timeoutMs: null, typed: false } as const;
  const node: Tree = { kind: "sequence", nodes: [step, { kind: "sleep", name: "nap", ms: 4_000 }] };
  return { kind: "child", name, node };
}

interface CleansUp extends Pick<Tree & { kind: "cleanup" }, "ms" | "sleepMs" | "timeoutMs" | "node"> {
  readonly late: boolean;
}

/** The tree with compensations, and with clean-ups in its child workflows. */
function undoing(tree: Tree, undone: ReadonlyMap<string, UndoPlan>, cleansUp: CleansUp | null): Tree {
  const found = tree.kind === "step" ? [...undone].find(([name]) => tree.name.includes(name)) : undefined;
  const own = found === undefined || tree.kind !== "step" ? tree : { ...tree, compensate: found[1] };
  return childrenOf(own).reduce((all, child, at) => {
    const inner = undoing(child, undone, cleansUp);
    return withChild(all, at, own.kind === "child" ? registered(inner, cleansUp) : inner);
  }, own);
}

/** A clean-up at the beginning, and in some plans another one at the end, of each chapter. */
function registered(tree: Tree, cleansUp: CleansUp | null): Tree {
  if (cleansUp === null) return tree;
  if (tree.kind === "chapters")
    return { ...tree, nodes: tree.nodes.map((node) => registered(node, cleansUp)) };
  const { late, ...own } = cleansUp;
  const node = { kind: "cleanup", name: "tidy", ...own } as const;
  return { kind: "sequence", nodes: late ? [node, tree, node] : [node, tree] };
}
