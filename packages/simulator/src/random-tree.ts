/**
 * Random trees of 5 to 40 nodes. In a `calm` tree nothing depends on time or order, so its output is known in
 * advance. Proven in test/sim.test.ts.
 */

import type { Random } from "@durable/testing";
import { attempts, childrenOf, type Kind, type Tree } from "./tree.ts";

const names = ["plan", "draft", "check", "file"] as const;
const groups = ["branches", "sides"] as const;
/** A child may have children, which have none. */
const deepest = 2;
const newer = new Set<Kind>(["stream", "child", "map"]);

export interface TreeOptions {
  readonly calm: boolean;
  readonly size: number;
  /** A new name for each child workflow. */
  readonly childName: () => string;
  /** The number of runs above this tree. */
  readonly depth?: number;
  /** Some leaves await a timer that is not from `ctx`. */
  readonly foreign?: boolean;
  /** Some leaves leave a rejected promise behind. */
  readonly strays?: boolean;
}

/** A tree with at least one stream, child, map or effect. */
export function randomTree(random: Random, options: TreeOptions): Tree {
  const tree = grow(random, options);
  if (hasNewer(tree)) return tree;
  const extra = random.chance(0.4) ? stream(random, options.calm) : effect(random, options.calm);
  const nodes = tree.kind === "sequence" ? tree.nodes : [tree];
  const at = random.between(0, nodes.length);
  return { kind: "sequence", nodes: [...nodes.slice(0, at), extra, ...nodes.slice(at)] };
}

function hasNewer(tree: Tree): boolean {
  return (
    newer.has(tree.kind) ||
    (tree.kind === "step" && tree.onUncertain !== undefined) ||
    childrenOf(tree).some(hasNewer)
  );
}

function grow(random: Random, options: TreeOptions): Tree {
  const { calm, size, childName, depth = 0 } = options;
  if (size <= 1) return leaf(random, options);
  const grown = (part: number, given: TreeOptions): Tree => grow(random, { ...given, size: part });
  const inner = (part: number): Tree => grown(part, options);
  const parts = (given = options): Tree[] => split(random, size - 1).map((part) => grown(part, given));
  const kinds: Kind[] = ["sequence", "sequence", "sequence", "parallel", "parallel", "loop", "attempt"];
  if (!calm) kinds.push("race", "race");
  if (depth < deepest) kinds.push("child");
  if (size > 2) kinds.push("map");
  const kind = random.pick(kinds);
  switch (kind) {
    case "parallel":
      return group(random, kind, calm, parts());
    case "race":
      // The order between foreign awaits is not kept, so none of them decides a race.
      return group(random, kind, calm, parts({ ...options, foreign: false }));
    case "loop":
      return { kind, times: random.between(2, 3), node: inner(Math.min(size - 1, 4)) };
    case "child": {
      const below = { ...options, size: Math.min(size - 1, 4), depth: depth + 1 };
      return { kind, name: childName(), node: grow(random, below) };
    }
    case "map": {
      const concurrency = random.chance(0.2) ? 1 : null;
      const node = inner(Math.min(size - 1, 3));
      const [items, keyed] = [random.between(2, 3), random.chance(0.7)];
      return { kind, name: random.pick(groups), items, keyed, concurrency, node };
    }
    case "attempt":
      // In a calm tree a failing step stands alone in its `attempt`, so that nothing depends on it.
      return { kind, node: calm && random.chance(0.5) ? failing(random) : inner(size - 1) };
    default:
      return { kind: "sequence", nodes: parts() };
  }
}

function group(random: Random, kind: "parallel" | "race", calm: boolean, nodes: readonly Tree[]): Tree {
  const name = random.pick(groups);
  const plain = random.chance(0.35);
  const shares = !plain && !calm && random.chance(0.15);
  if (kind === "race") return { kind, name, plain, shares, nodes };
  const concurrency = !plain && random.chance(0.2) ? random.between(1, 2) : null;
  return { kind, name, plain, settled: random.chance(0.3), concurrency, shares, nodes };
}

function leaf(random: Random, { calm, depth = 0, foreign = false, strays = false }: TreeOptions): Tree {
  const name = random.pick(names);
  if (strays && random.chance(0.1))
    return { kind: "stray", name: `stray ${name}`, ms: random.pick([5, 60, 2_000]) };
  if (foreign && random.chance(0.25)) return foreignAwait(random, name);
  switch (random.between(0, 11)) {
    case 0:
    case 1:
      return { kind: "sleep", name: `nap ${name}`, ms: random.pick([0, 7, 300, 4_000, 50_000, 90_000]) };
    case 2:
    case 3:
      return suspend(random, name, calm);
    case 4:
      // A fork inside a child would produce forks of forks.
      return calm || depth > 0 || random.chance(0.6)
        ? step(random, name, calm)
        : { kind: "fork", name: "branch off" };
    case 5:
    case 6:
      return random.chance(0.4) ? stream(random, calm) : effect(random, calm);
    default:
      return step(random, name, calm);
  }
}

/** Mostly under a name that no other place has; some are two strands that want one name at one time. */
function foreignAwait(random: Random, name: string): Tree {
  const ms = random.pick([0, 5, 60, 700, 5_000]);
  if (random.chance(0.7)) return { kind: "foreign", name: `later ${random.between(1, 1_000_000)}`, ms };
  const strand: Tree = { kind: "foreign", name, ms };
  if (random.chance(0.5)) return strand;
  const all = { kind: "parallel", plain: true, settled: false, concurrency: null, shares: false } as const;
  return { ...all, name: "strands", nodes: [strand, strand] };
}

function suspend(random: Random, name: string, calm: boolean): Tree {
  const timeoutMs = !calm && random.chance(0.35) ? random.pick([5, 800, 20_000]) : null;
  const fallback = timeoutMs !== null && random.chance(0.5);
  return {
    kind: "suspend",
    name: `ask ${name}`,
    timeoutMs,
    fallback,
    checked: calm || random.chance(0.3),
    slowMs: random.pick([0, 0, 40]),
    mailed: random.chance(0.5),
  };
}

function step(random: Random, name: string, calm: boolean): Tree & { kind: "step" } {
  const fails = random.chance(0.75) ? 0 : random.between(1, attempts - 1);
  const timeoutMs = !calm && random.chance(0.1) ? 40 : null;
  const ms = random.pick([0, 0, 5, 60, 2_000]);
  const large = random.chance(0.12)
    ? { large: random.pick(["list", "list", "fields", "text"] as const) }
    : {};
  const declares = random.chance(0.08);
  return {
    kind: "step",
    name: declares ? `given ${name}` : name,
    ...(declares ? { declares } : {}),
    ms,
    fails: !calm && random.chance(0.05) ? 9 : fails,
    timeoutMs,
    typed: random.chance(0.2),
    ...large,
  };
}

/** A step with an effect on the outside world. */
function effect(random: Random, calm: boolean): Tree {
  const onUncertain = random.pick(["retry", "suspend", "suspend", "reconcile", "reconcile"] as const);
  const name = `${onUncertain} pay ${random.pick(names)}`;
  const { large: _, declares: _d, ...plain } = step(random, name, calm);
  return { ...plain, name, ms: random.pick([0, 60, 2_000, 2_000]), typed: false, onUncertain };
}

function stream(random: Random, calm: boolean): Tree {
  const fails = random.chance(0.6) ? 0 : random.between(1, attempts - 1);
  const plain = {
    kind: "stream",
    name: `feed ${random.pick(names)}`,
    chunks: random.pick([0, 1, 3, 6]),
    ms: random.pick([0, 30, 90, 700]),
    fails: !calm && random.chance(0.06) ? 9 : fails,
  } as const;
  if (calm || random.chance(0.7)) return plain;
  if (random.chance(0.4)) return { ...plain, timeoutMs: random.pick([50, 400, 3_000]) };
  const stalled = random.between(1, attempts - 1);
  return { ...plain, ms: random.pick([0, 30]), fails: stalled, timeoutMs: 400, stalls: true };
}

function failing(random: Random): Tree {
  return {
    kind: "step",
    name: random.pick(names),
    ms: random.pick([0, 5]),
    fails: 9,
    timeoutMs: null,
    typed: false,
  };
}

function split(random: Random, size: number): number[] {
  const parts: number[] = [];
  for (let left = size; left > 0;) {
    const part = Math.min(left, random.between(1, Math.max(1, Math.ceil(size / 2))));
    parts.push(part);
    left -= part;
  }
  return parts;
}
