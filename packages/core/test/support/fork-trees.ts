/** Random trees of steps, sequences, groups and waits, and what a fork of them must keep: a model of causes alone. */

import { durable, type Context } from "@durable/core";
import type { Random, VirtualWorld } from "@durable/testing";

export type Tree =
  | { readonly kind: "step" | "suspend"; readonly name: string; readonly key: string }
  | { readonly kind: "sequence"; readonly children: readonly Tree[] }
  | { readonly kind: "parallel"; readonly branches: Readonly<Record<string, Tree>> };

/** A tree of about `size` leaves; keys are worked out here, independently of the engine. */
export function randomTree(random: Random, size: number): Tree {
  const counts = new Map<string, number>();
  const count = (scope: string, name: string): string => {
    const n = (counts.get(`${scope} ${name}`) ?? 0) + 1;
    counts.set(`${scope} ${name}`, n);
    return `${scope}${name}${n === 1 ? "" : `#${n}`}`;
  };
  const grow = (scope: string, left: number, depth: number): Tree => {
    if (left <= 1 || depth > 3) {
      const kind = random.chance(0.85) ? "step" : "suspend";
      const name = `${kind}-${random.pick(["a", "b", "c"])}`;
      return { kind, name, key: count(scope, name) };
    }
    const parts = random.between(2, 4);
    const share = (): number => Math.ceil(left / parts);
    if (random.chance(0.5)) {
      return {
        kind: "sequence",
        children: Array.from({ length: parts }, () => grow(scope, share(), depth + 1)),
      };
    }
    const group = count(scope, "parallel");
    const names = ["x", "y", "z", "w"].slice(0, parts);
    const branches = names.map((name) => [name, grow(`${group}[${name}]/`, share(), depth + 1)] as const);
    return { kind: "parallel", branches: Object.fromEntries(branches) };
  };
  return { kind: "sequence", children: [grow("", size, 0), grow("", 2, 0)] };
}

export function leaves(tree: Tree): string[] {
  switch (tree.kind) {
    case "step":
    case "suspend":
      return [tree.key];
    case "sequence":
      return tree.children.flatMap(leaves);
    case "parallel":
      return Object.values(tree.branches).flatMap(leaves);
  }
}

/** Keys that cannot happen before `key` has: whatever comes later in a sequence around it. */
export function causedBy(tree: Tree, key: string): string[] {
  switch (tree.kind) {
    case "step":
    case "suspend":
      return [];
    case "sequence": {
      const at = tree.children.findIndex((child) => leaves(child).includes(key));
      if (at === -1) return [];
      return [...causedBy(tree.children[at] as Tree, key), ...tree.children.slice(at + 1).flatMap(leaves)];
    }
    case "parallel":
      return Object.values(tree.branches).flatMap((branch) => causedBy(branch, key));
  }
}

/** What can begin once these are done: the first of each sequence that is not. */
export function frontier(tree: Tree, done: ReadonlySet<string>): string[] {
  switch (tree.kind) {
    case "step":
    case "suspend":
      return done.has(tree.key) ? [] : [tree.key];
    case "sequence": {
      const first = tree.children.find((child) => leaves(child).some((key) => !done.has(key)));
      return first === undefined ? [] : frontier(first, done);
    }
    case "parallel":
      return Object.values(tree.branches).flatMap((branch) => frontier(branch, done));
  }
}

/** One workflow that walks any tree; every step's value names its key, its life and what it was given. */
export function treeFlow(world: VirtualWorld, random: Random) {
  const effects: string[] = [];
  let made = 0;
  const walk = async (ctx: Context, tree: Tree, given: string): Promise<string> => {
    switch (tree.kind) {
      case "step":
        return ctx.step(tree.name, async ({ meter }) => {
          effects.push(tree.key);
          meter({ model: "tree-1", inputTokens: 100, outputTokens: 1 });
          await new Promise<void>((resolve) => void world.timer(random.between(0, 30), resolve));
          return `${tree.key}:${++made}`;
        });
      case "suspend":
        return ctx.suspend<string>(tree.name);
      case "sequence": {
        let value = given;
        for (const child of tree.children) value = await walk(ctx, child, value);
        return value;
      }
      case "parallel": {
        const branches = Object.entries(tree.branches).map(
          ([name, branch]) => [name, (c: Context) => walk(c, branch, given)] as const,
        );
        return JSON.stringify(await ctx.parallel(Object.fromEntries(branches)));
      }
    }
  };
  const flow = durable("tree", (ctx, tree: Tree) => walk(ctx, tree, ""));
  return { flow, effects };
}
