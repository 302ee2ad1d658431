/**
 * Workflows with messages and reports: in some plans, generated workflows also receive and report. Draws from a random stream
 * of its own, so that all else in a plan stays as it is. Proven in test/sim.test.ts.
 */

import { seeded, type Random } from "@durable/testing";
import { childrenOf, type Tree } from "./tree.ts";

/** The topics of generated workflows. */
export const topics = ["news", "orders"] as const;

interface Versions {
  readonly tree: Tree;
  readonly changed: Tree;
}

interface Mailed<V extends Versions> {
  readonly calm: boolean;
  readonly foreign?: boolean;
  readonly flows: readonly V[];
  readonly senders?: number;
}

/** The plan with messages, in some cases, and with processes that send them. */
export function withMail<V extends Versions & { readonly name: string }, P extends Mailed<V>>(
  seed: number,
  plan: P,
): P {
  const random = seeded(seed * 1_597_334_677 + 3);
  const { calm, foreign = false, flows } = plan;
  if (!random.chance(0.3) || foreign || flows.some(({ tree }) => hasStray(tree))) return plan;
  // A stream of its own: plans with one receive at a time are drawn as if there were no others.
  const others = seeded(seed * 1_597_334_677 + 11);
  const more = !calm && others.chance(0.4) ? (part: Part) => withSeveral(others, part) : null;
  const mailed = flows.map((flow) =>
    flow.name === "killer" ? flow : withMessages(random, flow, { calm, more }),
  );
  return { ...plan, flows: mailed, senders: 2 };
}

function hasStray(tree: Tree): boolean {
  return tree.kind === "stray" || childrenOf(tree).some(hasStray);
}

/** The same workflow with receives and reports, in both versions at the same places. */
function withMessages<V extends Versions>(
  random: Random,
  flow: V,
  { calm, more }: { readonly calm: boolean; readonly more: ((part: Part) => Part) | null },
): V {
  // Where an order does not depend on time, only the output of the workflow tells what it received.
  const parts = Array.from({ length: 3 }, () => partOf(random, calm)).map((part) => more?.(part) ?? part);
  const all = (tree: Tree): Tree => {
    if (tree.kind === "chapters")
      return { ...tree, nodes: tree.nodes.map((node, i) => around(node, parts[i % parts.length])) };
    return around(tree, parts[0]);
  };
  return { ...flow, tree: all(flow.tree), changed: all(flow.changed) };
}

interface Part {
  readonly how: "before" | "after" | "beside";
  readonly nodes: readonly Tree[];
}

function partOf(random: Random, calm: boolean): Part {
  const nodes = Array.from({ length: random.between(1, 3) }, () => leaf(random, calm));
  return { how: random.pick(["before", "after", "beside"]), nodes };
}

function around(tree: Tree, part: Part | undefined): Tree {
  if (part === undefined || part.nodes.length === 0) return tree;
  const { how, nodes } = part;
  if (how === "before") return { kind: "sequence", nodes: [...nodes, tree] };
  if (how === "after") return { kind: "sequence", nodes: [tree, ...nodes] };
  const group = { kind: "parallel", name: "mail", plain: false, settled: false } as const;
  const strands: readonly Tree[] = [tree, { kind: "sequence", nodes }];
  return { ...group, concurrency: null, shares: false, nodes: strands };
}

function leaf(random: Random, calm: boolean): Tree {
  if (random.chance(0.3)) return { kind: "report", name: "report", size: random.pick([1, 40]) };
  const receive = receiving(random, calm);
  if (calm || random.chance(0.7)) return receive;
  const ms = random.pick([5, 800, 4_000]);
  const sleep: Tree = { kind: "sleep", name: "nap beside mail", ms };
  return { kind: "race", name: "mail race", plain: false, shares: false, nodes: [receive, sleep] };
}

/** Two receives of one topic that are open at the same time: in a race, or both awaited. */
function withSeveral(random: Random, part: Part): Part {
  const [one, two] = [receiving(random, false), receiving(random, false)];
  const nodes = [one, { ...two, name: (one as { readonly name: string }).name } as Tree];
  const shape = { name: "mail twice", plain: false, shares: false, nodes } as const;
  const node: Tree = random.chance(0.5)
    ? { kind: "race", ...shape }
    : { kind: "parallel", ...shape, settled: true, concurrency: null };
  return { ...part, nodes: random.chance(0.5) ? [node, ...part.nodes] : [...part.nodes, node] };
}

function receiving(random: Random, calm: boolean): Tree {
  const timeoutMs = !calm && random.chance(0.4) ? random.pick([5, 800, 20_000]) : null;
  return {
    kind: "receive",
    name: random.pick(topics),
    timeoutMs,
    fallback: timeoutMs !== null && random.chance(0.5),
    checked: calm || random.chance(0.4),
    slowMs: random.pick([0, 0, 40]),
  };
}
