/**
 * Workflows as data: trees of steps, waits, groups and children, and functions on them. Proven in
 * test/sim.test.ts.
 */

import type { Random } from "@durable/testing";

/** A generated workflow of the simulator, as data. */
export type Tree =
  | {
      readonly kind: "step";
      readonly name: string;
      readonly ms: number;
      /** The number of attempts that fail before one succeeds; 9 for a step that always fails. */
      readonly fails: number;
      readonly timeoutMs: number | null;
      /** It returns more than text. */
      readonly typed: boolean;
      /** It returns a value large enough for blobs, which shares parts with others. */
      readonly large?: "list" | "text" | "fields";
      /** It declares the input of its run as what its result depends on. */
      readonly declares?: true;
      /** It makes an effect on the outside world, with this rule for attempts of unknown outcome. */
      readonly onUncertain?: "retry" | "suspend" | "reconcile";
      /** The limit that it is under. */
      readonly limit?: string | { readonly name: string; readonly tokens: number };
      /** How it is undone. */
      readonly compensate?: { readonly ms: number; readonly fails: number };
    }
  /** Registers a clean-up of two steps, of which the first takes this long. Between them it may sleep, and run `node`. */
  | {
      readonly kind: "cleanup";
      readonly name: string;
      readonly ms: number;
      readonly sleepMs?: number;
      readonly node?: Tree;
      /** How long it may take; 10 minutes if missing. */
      readonly timeoutMs?: number;
    }
  /**
   * Chunks with pauses between them. `fails` is as for steps; a failing attempt yields half of its chunks
   * first.
   */
  | {
      readonly kind: "stream";
      readonly name: string;
      readonly chunks: number;
      readonly ms: number;
      readonly fails: number;
      readonly timeoutMs?: number;
      /** A failing attempt does not throw: it stalls until long after its timeout, and then goes on. */
      readonly stalls?: true;
    }
  /** A step whose work kills its process. */
  | { readonly kind: "killer"; readonly name: string }
  | { readonly kind: "sleep"; readonly name: string; readonly ms: number }
  | {
      readonly kind: "suspend";
      readonly name: string;
      readonly timeoutMs: number | null;
      readonly fallback: boolean;
      /** Answers must fit a schema. */
      readonly checked: boolean;
      /** How long the validation of an answer takes. */
      readonly slowMs: number;
      /** A step mails the token before the workflow waits. */
      readonly mailed: boolean;
      /** The name that it had in the first version of the code. */
      readonly was?: string;
    }
  /** Waits for a message of the topic `name`. */
  | {
      readonly kind: "receive";
      readonly name: string;
      readonly timeoutMs: number | null;
      readonly fallback: boolean;
      /** As for `suspend`. */
      readonly checked: boolean;
      readonly slowMs: number;
    }
  /** Shows a list with this many numbers. */
  | { readonly kind: "report"; readonly name: string; readonly size: number }
  /** Awaits a bare timer, which is not from `ctx`, and then makes a step. */
  | { readonly kind: "foreign"; readonly name: string; readonly ms: number }
  /** Leaves a rejected promise behind between two steps. */
  | { readonly kind: "stray"; readonly name: string; readonly ms: number }
  /** A step that forks its own run. */
  | { readonly kind: "fork"; readonly name: string }
  | { readonly kind: "sequence"; readonly nodes: readonly Tree[] }
  /** At the top of a workflow: one chapter of its run after the other. Anywhere else, a sequence. */
  | {
      readonly kind: "chapters";
      readonly nodes: readonly Tree[];
      /** Leaves a wait and a step open at each border, which takes this long. */
      readonly leavesMs?: number;
    }
  | { readonly kind: "loop"; readonly times: number; readonly node: Tree }
  | { readonly kind: "attempt"; readonly node: Tree }
  /** A workflow named `name`, run as a child. */
  | { readonly kind: "child"; readonly name: string; readonly node: Tree; readonly deadlineMs?: number }
  /** A workflow named `name`, spawned; `ends` cancels it when this run ends. */
  | { readonly kind: "spawn"; readonly name: string; readonly ends: boolean; readonly node: Tree }
  /** Sets a tag, or removes it. */
  | { readonly kind: "tag"; readonly name: string; readonly value: string | null }
  /** One equal branch for each item. */
  | {
      readonly kind: "map";
      readonly name: string;
      readonly items: number;
      readonly keyed: boolean;
      readonly concurrency: number | null;
      readonly node: Tree;
      readonly deadlineMs?: number;
    }
  | {
      readonly kind: "parallel";
      readonly name: string;
      /** Uses Promise.all or Promise.allSettled, in the enclosing scope. */
      readonly plain: boolean;
      readonly settled: boolean;
      readonly concurrency: number | null;
      /** Branches wait for a step that was called before them. */
      readonly shares: boolean;
      readonly nodes: readonly Tree[];
      readonly deadlineMs?: number;
    }
  | {
      readonly kind: "race";
      readonly shares: boolean;
      readonly name: string;
      readonly plain: boolean;
      readonly nodes: readonly Tree[];
      readonly deadlineMs?: number;
    };

export type Kind = Tree["kind"];

/** The number of attempts of every generated step. */
export const attempts = 3;

export function childrenOf(tree: Tree): readonly Tree[] {
  if ("nodes" in tree) return tree.nodes;
  return "node" in tree && tree.node !== undefined ? [tree.node] : [];
}

export function sizeOf(tree: Tree): number {
  return 1 + childrenOf(tree).reduce((sum, child) => sum + sizeOf(child), 0);
}

/**
 * The tree in a later version of the code: a step more, a leaf less, a leaf of another kind or length under
 * the same name, or a branch more.
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

/** The tree in a later version of the code in which every wait has another name; `was` gives the old one. */
export function renamedTree(tree: Tree, was: boolean): Tree {
  if (tree.kind === "suspend")
    return { ...tree, name: `new ${tree.name}`, ...(was ? { was: tree.name } : {}) };
  return childrenOf(tree).reduce(
    (renamed, child, at) => withChild(renamed, at, renamedTree(child, was)),
    tree,
  );
}

function changedLeaf(random: Random, tree: Tree, extra: Tree): Tree {
  if (tree.kind === "sleep" && random.chance(0.5)) return { ...tree, ms: tree.ms + 1 };
  if ((tree.kind === "step" || tree.kind === "stream") && random.chance(0.3))
    return { kind: "sleep", name: tree.name, ms: 5 };
  return { kind: "sequence", nodes: random.chance(0.5) ? [extra, tree] : [tree, extra] };
}

/**
 * True when strands of one scope use the same name, and one of them has such a node, whose time differs: which of them
 * comes first may differ, too.
 */
export function swapsNames(tree: Tree, differs: (node: Tree) => boolean): boolean {
  const strands = tree.kind === "parallel" && tree.plain ? tree.nodes : [];
  const swaps = strands.some((strand, at) => {
    const taken = new Set(strands.filter((_, other) => other !== at).flatMap(namesIn));
    return hasNode(strand, differs) && namesIn(strand).some((name) => taken.has(name));
  });
  // The loser of a plain race goes on beside all that comes after it.
  if (swaps || (tree.kind === "race" && tree.plain && hasNode(tree, differs))) return true;
  return !isOwnRun(tree) && childrenOf(tree).some((node) => swapsNames(node, differs));
}

/** Awaits something other than `ctx`. */
export function isForeign({ kind }: Tree): boolean {
  return kind === "foreign";
}

/** How long the foreign awaits of a tree take, one after the other. */
export function foreignMsOf(tree: Tree): number {
  if (tree.kind === "foreign") return tree.ms;
  const times = tree.kind === "loop" ? tree.times : tree.kind === "map" ? tree.items : 1;
  return childrenOf(tree).reduce((sum, child) => sum + times * foreignMsOf(child), 0);
}

/** Its wait is mailed by a step that has the name of the wait: under a new name, it is a new step. */
export function isMailed(tree: Tree): boolean {
  return tree.kind === "suspend" && tree.mailed;
}

function hasNode(tree: Tree, is: (node: Tree) => boolean): boolean {
  return is(tree) || (!isOwnRun(tree) && childrenOf(tree).some((node) => hasNode(node, is)));
}

/** The nodes below it are in a run of their own. */
function isOwnRun({ kind }: Tree): boolean {
  return kind === "child" || kind === "spawn";
}

/** The names of its calls in the scope around it. */
function namesIn(tree: Tree): string[] {
  const plain = "plain" in tree && tree.plain;
  const own = "name" in tree && !plain && tree.kind !== "tag" ? [tree.name] : [];
  const hasScope = isOwnRun(tree) || tree.kind === "map" || ("plain" in tree && !plain);
  return hasScope ? own : [...own, ...childrenOf(tree).flatMap(namesIn)];
}

export function withChild(tree: Tree, at: number, child: Tree): Tree {
  if ("nodes" in tree) return { ...tree, nodes: tree.nodes.map((node, i) => (i === at ? child : node)) };
  return "node" in tree ? { ...tree, node: child } : tree;
}
