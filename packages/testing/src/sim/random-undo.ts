/**
 * Workflows that undo what they did: in some plans, steps of some names have a compensation, and clean-ups are
 * registered. Draws from a random stream of its own, so that all else in a plan stays as it is. Proven in
 * test/sim.test.ts.
 */

import { seeded } from "../random.ts";
import { childrenOf, withChild, type Tree } from "./tree.ts";

/** How a step is undone: how long it takes, and how many attempts fail; 9 for one that always fails. */
type UndoPlan = NonNullable<Extract<Tree, { kind: "step" }>["compensate"]>;

const names = ["plan", "draft", "check", "file", "pay"] as const;

/** The same workflows, each in two versions, with what undoes them; in most plans they stay as they are. */
export function withUndo<V extends { readonly tree: Tree; readonly changed: Tree }>(
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
  const change = (tree: Tree): Tree => registered(undoing(tree, undone, cleansUp), cleansUp);
  return flows.map((flow) => ({ ...flow, tree: change(flow.tree), changed: change(flow.changed) }));
}

interface CleansUp {
  readonly ms: number;
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
  const node = { kind: "cleanup", name: "tidy", ms: cleansUp.ms } as const;
  return { kind: "sequence", nodes: cleansUp.late ? [node, tree, node] : [node, tree] };
}
