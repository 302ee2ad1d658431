/**
 * Random workflows as data: trees of steps, waits and groups, 5 to 40 nodes.
 * In a `calm` tree nothing depends on time or order, so what it gives can be told beforehand.
 */

import type { Random } from "../random.ts";

export type Tree =
  | {
      readonly kind: "step";
      readonly name: string;
      readonly ms: number;
      /** Attempts that fail before one succeeds; 9 for a step that never does. */
      readonly fails: number;
      readonly timeoutMs: number | null;
      /** It gives more than text. */
      readonly typed: boolean;
    }
  /** A step whose work kills whoever does it. */
  | { readonly kind: "killer"; readonly name: string }
  | { readonly kind: "sleep"; readonly name: string; readonly ms: number }
  | {
      readonly kind: "suspend";
      readonly name: string;
      readonly timeoutMs: number | null;
      readonly fallback: boolean;
      /** Answers must fit a schema. */
      readonly checked: boolean;
      /** How long it takes to look at an answer. */
      readonly slowMs: number;
      /** The token is sent out by a step of its own before anybody waits. */
      readonly mailed: boolean;
    }
  /** A step that forks its own run. */
  | { readonly kind: "fork"; readonly name: string }
  | { readonly kind: "sequence"; readonly nodes: readonly Tree[] }
  | { readonly kind: "loop"; readonly times: number; readonly node: Tree }
  | { readonly kind: "attempt"; readonly node: Tree }
  | {
      readonly kind: "parallel";
      readonly name: string;
      /** Through Promise.all or Promise.allSettled, in the scope around it. */
      readonly plain: boolean;
      readonly settled: boolean;
      readonly concurrency: number | null;
      /** Branches wait for a step that was asked for before them. */
      readonly shares: boolean;
      readonly nodes: readonly Tree[];
    }
  | {
      readonly kind: "race";
      readonly shares: boolean;
      readonly name: string;
      readonly plain: boolean;
      readonly nodes: readonly Tree[];
    };

export type Kind = Tree["kind"];

/** Attempts every generated step has. */
export const attempts = 3;
const names = ["plan", "draft", "check", "file"] as const;
const groups = ["branches", "sides"] as const;

export interface TreeOptions {
  readonly calm: boolean;
  readonly size: number;
}

export function randomTree(random: Random, { calm, size }: TreeOptions): Tree {
  if (size <= 1) return leaf(random, calm);
  const inner = (part: number): Tree => randomTree(random, { calm, size: part });
  const parts = (): Tree[] => split(random, size - 1).map(inner);
  const kinds: Kind[] = ["sequence", "sequence", "sequence", "parallel", "parallel", "loop", "attempt"];
  if (!calm) kinds.push("race", "race");
  const kind = random.pick(kinds);
  switch (kind) {
    case "parallel":
    case "race":
      return group(random, kind, calm, parts());
    case "loop":
      return { kind, times: random.between(2, 3), node: inner(Math.min(size - 1, 4)) };
    case "attempt":
      // What fails in a calm tree fails alone, right here, so that nothing else hangs on it.
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

function leaf(random: Random, calm: boolean): Tree {
  const name = random.pick(names);
  switch (random.between(0, 9)) {
    case 0:
    case 1:
      return { kind: "sleep", name: `nap ${name}`, ms: random.pick([0, 7, 300, 4_000, 50_000, 90_000]) };
    case 2:
    case 3: {
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
    case 4:
      return calm || random.chance(0.6) ? step(random, name, calm) : { kind: "fork", name: "branch off" };
    default:
      return step(random, name, calm);
  }
}

function step(random: Random, name: string, calm: boolean): Tree {
  const fails = random.chance(0.75) ? 0 : random.between(1, attempts - 1);
  const timeoutMs = !calm && random.chance(0.1) ? 40 : null;
  const ms = random.pick([0, 0, 5, 60, 2_000]);
  return {
    kind: "step",
    name,
    ms,
    fails: !calm && random.chance(0.05) ? 9 : fails,
    timeoutMs,
    typed: random.chance(0.2),
  };
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

export function childrenOf(tree: Tree): readonly Tree[] {
  if ("nodes" in tree) return tree.nodes;
  return "node" in tree ? [tree.node] : [];
}

export function sizeOf(tree: Tree): number {
  return 1 + childrenOf(tree).reduce((sum, child) => sum + sizeOf(child), 0);
}

/**
 * The same tree as a later version of the code has it: a step more, a leaf less, a leaf of another kind or length
 * under the same name, or a branch more, somewhere.
 */
export function changedTree(random: Random, tree: Tree): Tree {
  const extra: Tree = {
    kind: "step",
    name: "added",
    ms: random.pick([0, 5]),
    fails: 0,
    timeoutMs: null,
    typed: false,
  };
  const inner = childrenOf(tree).map((_, i) => i);
  if (inner.length === 0) return changedLeaf(random, tree, extra);
  const at = random.pick(inner);
  if (tree.kind === "sequence" && random.chance(0.5)) {
    const nodes = [...tree.nodes];
    const isLeaf = childrenOf(nodes[at] as Tree).length === 0;
    if (isLeaf && nodes.length > 1 && random.chance(0.5)) nodes.splice(at, 1);
    else nodes.splice(at, 0, extra);
    return { ...tree, nodes };
  }
  if ((tree.kind === "parallel" || tree.kind === "race") && random.chance(0.15))
    return { ...tree, nodes: [...tree.nodes, extra] };
  return withChild(tree, at, changedTree(random, childrenOf(tree)[at] as Tree));
}

function changedLeaf(random: Random, tree: Tree, extra: Tree): Tree {
  if (tree.kind === "sleep" && random.chance(0.5)) return { ...tree, ms: tree.ms + 1 };
  if (tree.kind === "step" && random.chance(0.3)) return { kind: "sleep", name: tree.name, ms: 5 };
  return { kind: "sequence", nodes: random.chance(0.5) ? [extra, tree] : [tree, extra] };
}

export function withChild(tree: Tree, at: number, child: Tree): Tree {
  if ("nodes" in tree) return { ...tree, nodes: tree.nodes.map((node, i) => (i === at ? child : node)) };
  return "node" in tree ? { ...tree, node: child } : tree;
}
