/**
 * Tags and spawned runs: some generated workflows change their tags, and some start runs that outlive them. Draws from a
 * random stream of its own, so that all else in a plan stays as it is. Proven in test/sim.test.ts.
 */

import type { Random } from "@durable/testing";
import { childrenOf, withChild, type Tree } from "./tree.ts";

interface Versions {
  readonly tree: Tree;
  readonly changed: Tree;
}

/** The same workflow with a few nodes more, at the same places of both versions. */
export function withFinding<V extends Versions>(random: Random, flow: V, spawnedName: () => string): V {
  let { tree, changed } = flow;
  for (let left = random.between(1, 4); left > 0; left--) {
    const node = random.chance(0.55) ? tag(random) : spawn(random, spawnedName());
    const [place, first] = [random.next(), random.chance(0.5)];
    tree = beside(tree, node, place, first);
    changed = beside(changed, node, place, first);
  }
  return { ...flow, tree, changed };
}

function tag(random: Random): Tree {
  const name = random.pick(["customer", "stage"]);
  return { kind: "tag", name, value: random.chance(0.25) ? null : random.pick(["1", "2", "late"]) };
}

function spawn(random: Random, name: string): Tree {
  const step: Tree = {
    kind: "step",
    name: "check",
    ms: random.pick([0, 60, 2_000]),
    fails: 0,
    timeoutMs: null,
    typed: false,
  };
  const nap: Tree = { kind: "sleep", name: "nap", ms: random.pick([7, 4_000, 90_000]) };
  const nodes = random.chance(0.5) ? [step] : [step, nap, step];
  return { kind: "spawn", name, ends: random.chance(0.4), node: { kind: "sequence", nodes } };
}

/** Puts a node before or after another one: at the top, or in a branch that the place chooses. */
function beside(tree: Tree, node: Tree, place: number, first: boolean): Tree {
  const inner = childrenOf(tree);
  // Chapters stay at the top, and what is inside of a child or a race stays as it is.
  const deeper =
    tree.kind === "chapters" || (tree.kind === "parallel" && place < 0.5) || tree.kind === "sequence";
  if (!deeper || inner.length === 0 || (tree.kind === "sequence" && place > 0.7))
    return { kind: "sequence", nodes: first ? [node, tree] : [tree, node] };
  const at = Math.floor(place * inner.length);
  return withChild(tree, at, beside(inner[at] as Tree, node, (place * 7) % 1, first));
}
