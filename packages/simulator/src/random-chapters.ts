/**
 * Workflows in chapters: some generated workflows, and some of their children, become the chapters of runs
 * that continue. Draws from a random stream of its own, so that all else in a plan stays as it is. Proven in
 * test/sim.test.ts.
 */

import type { Random } from "@durable/testing";
import { randomTree, type TreeOptions } from "./random-tree.ts";
import { changedTree, childrenOf, renamedTree, sizeOf, withChild, type Tree } from "./tree.ts";

/** A workflow in two versions. `compatible` is missing unless the second one only renames waits. */
interface Versions {
  readonly tree: Tree;
  readonly changed: Tree;
  readonly compatible?: boolean;
}

/** Larger trees stay in one chapter. */
const largest = 28;

/** The same workflow with the chapters that it got; it stays as it is in about half of the cases. */
export function withChapters<V extends Versions>(
  random: Random,
  flow: V,
  options: Pick<TreeOptions, "calm" | "childName">,
): V {
  const extra = (depth: number): Versions => {
    const tree = randomTree(random, { ...options, size: random.between(1, 3), depth });
    if (flow.compatible !== undefined) return { tree, changed: renamedTree(tree, flow.compatible) };
    return { tree, changed: random.chance(0.3) ? changedTree(random, tree) : tree };
  };
  const names = childNames(flow.tree);
  let { tree, changed } = flow;
  if (names.length > 0 && random.chance(0.5)) {
    const [name, last] = [random.pick(names), extra(2)];
    tree = withLast(tree, name, last.tree);
    changed = withLast(changed, name, last.changed);
  }
  if (sizeOf(flow.tree) > largest || random.chance(0.3)) return { ...flow, tree, changed };
  const others = Array.from({ length: random.between(1, 2) }, () => extra(1));
  const at = random.between(0, others.length);
  // In other plans than calm ones, some chapters would end before a child.
  if (!options.calm && random.chance(0.2)) others.unshift(besideChild(random, options.childName()));
  const all = [...others.slice(0, at), { tree, changed }, ...others.slice(at)];
  const kind = "chapters" as const;
  // A later version may have a chapter less.
  const kept = flow.compatible === undefined && random.chance(0.1) ? all.slice(0, -1) : all;
  // Longer than the time that work gets to end at a border.
  const left = random.chance(0.3) ? { leavesMs: random.pick([60, 7_000]) } : {};
  return {
    ...flow,
    tree: { kind, nodes: all.map((each) => each.tree), ...left },
    changed: { kind, nodes: kept.map((each) => each.changed), ...left },
  };
}

/** A child that is still open when its chapter ends, in most cases. */
function besideChild(random: Random, name: string): Versions {
  const node: Tree = { kind: "sleep", name: "nap", ms: random.pick([300, 4_000, 50_000]) };
  const quick: Tree = { kind: "step", name: "quick", ms: 5, fails: 0, timeoutMs: null, typed: false };
  const nodes = [{ kind: "child", name, node } as const, quick];
  const tree: Tree = { kind: "race", name: "branches", plain: true, shares: false, nodes };
  return { tree, changed: tree };
}

function childNames(tree: Tree): string[] {
  const below = childrenOf(tree).flatMap(childNames);
  return tree.kind === "child" ? [tree.name, ...below] : below;
}

/** The tree with a last chapter for the child of this name. */
function withLast(tree: Tree, name: string, last: Tree): Tree {
  if (tree.kind === "child" && tree.name === name)
    return { ...tree, node: { kind: "chapters", nodes: [tree.node, last] } };
  return childrenOf(tree).reduce((all, child, at) => withChild(all, at, withLast(child, name, last)), tree);
}
