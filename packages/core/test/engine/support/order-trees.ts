/**
 * Random workflows: trees of steps, waits and groups, made from a seed and walked by one function.
 * Whatever a walk sees (values, failures, the run's clock, draws, a variable all strands share) it says,
 * so that two walks over one journal can be compared word for word.
 */

import { DurableError, type Context, type StepInfo } from "@durable/core";
import type { Random } from "@durable/testing";

export type Tree =
  | { readonly kind: "step"; readonly name: string; readonly fails: boolean }
  | { readonly kind: "sleep"; readonly name: string; readonly ms: number }
  | { readonly kind: "suspend"; readonly name: string; readonly timeoutMs: number | null }
  | { readonly kind: "sequence"; readonly nodes: readonly Tree[] }
  | { readonly kind: "loop"; readonly times: number; readonly node: Tree }
  | { readonly kind: "attempt"; readonly node: Tree }
  /** `plain`: through Promise.all, Promise.allSettled or Promise.race, in the scope around it. */
  | {
      readonly kind: "parallel";
      readonly plain: boolean;
      readonly settled: boolean;
      readonly nodes: readonly Tree[];
    }
  | { readonly kind: "race"; readonly plain: boolean; readonly nodes: readonly Tree[] };

export interface Walk {
  /** What a step does; it may take its time, and fail where the tree says so. */
  work(node: Tree & { kind: "step" }, info: StepInfo): unknown;
  /** Called with the token of each wait when the wait is made. */
  waits(token: string): void;
  /** Everything the walk sees, in order. */
  says(text: string): void;
}

const names = ["plan", "draft", "check", "file"] as const;

/** A tree of at most `size` nodes; what is looped over is kept small. */
export function randomTree(random: Random, size: number): Tree {
  if (size <= 1) return leaf(random);
  const parts = (): Tree[] => split(random, size - 1).map((part) => randomTree(random, part));
  switch (random.pick(["sequence", "sequence", "parallel", "parallel", "race", "loop", "attempt"])) {
    case "parallel":
      return { kind: "parallel", plain: random.chance(0.4), settled: random.chance(0.4), nodes: parts() };
    case "race":
      return { kind: "race", plain: random.chance(0.4), nodes: parts() };
    case "loop":
      return { kind: "loop", times: random.between(1, 3), node: randomTree(random, Math.min(size - 1, 5)) };
    case "attempt":
      return { kind: "attempt", node: randomTree(random, size - 1) };
    default:
      return { kind: "sequence", nodes: parts() };
  }
}

function leaf(random: Random): Tree {
  const name = random.pick(names);
  switch (random.between(0, 5)) {
    case 0:
      return { kind: "sleep", name: `nap ${name}`, ms: random.pick([0, 10, 300, 5_000]) };
    case 1:
      return { kind: "suspend", name: `ask ${name}`, timeoutMs: random.chance(0.3) ? 2_000 : null };
    default:
      return { kind: "step", name, fails: random.chance(0.12) };
  }
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

/** The body of a workflow that is this tree. */
export function walkTree(tree: Tree, walk: Walk): (ctx: Context) => Promise<unknown> {
  return async (ctx) => {
    const shared = { turns: 0 };
    const says = (c: Context, text: string): void => {
      shared.turns += 1;
      walk.says(`${shared.turns} ${text} at ${c.now()} ${c.random().toFixed(6)}`);
    };
    return visit(tree, ctx, { ...walk, tell: says });
  };
}

interface Visit extends Walk {
  tell(ctx: Context, text: string): void;
}

async function visit(node: Tree, ctx: Context, walk: Visit): Promise<unknown> {
  const value = await enter(node, ctx, walk);
  walk.tell(ctx, `${node.kind} ${JSON.stringify(value) ?? "nothing"}`);
  return value;
}

async function enter(node: Tree, ctx: Context, walk: Visit): Promise<unknown> {
  switch (node.kind) {
    case "step": {
      // Options differ so that failures come both at once and after further attempts.
      const retry = { attempts: 2, delay: 40, factor: 1 };
      return ctx.step(node.name, (info) => walk.work(node, info), { retry });
    }
    case "sleep":
      return ctx.sleep(node.ms, { name: `${node.name} ${node.ms}` });
    case "suspend": {
      const limit = node.timeoutMs === null ? {} : { timeout: node.timeoutMs };
      const wait = ctx.suspend(node.name, limit);
      walk.waits(wait.token);
      return wait;
    }
    case "sequence":
      return inSequence(node.nodes, ctx, walk);
    case "loop":
      return inSequence(
        Array.from({ length: node.times }, () => node.node),
        ctx,
        walk,
      );
    case "attempt":
      return visit(node.node, ctx, walk).catch((error: unknown) => {
        if (!DurableError.is(error)) throw error;
        walk.tell(ctx, `caught ${error.message}`);
        return error.code;
      });
    case "parallel":
    case "race":
      return visitGroup(node, ctx, walk);
  }
}

async function inSequence(nodes: readonly Tree[], ctx: Context, walk: Visit): Promise<unknown[]> {
  const values: unknown[] = [];
  for (const node of nodes) values.push(await visit(node, ctx, walk));
  return values;
}

async function visitGroup(
  node: Tree & { kind: "parallel" | "race" },
  ctx: Context,
  walk: Visit,
): Promise<unknown> {
  if (node.plain) {
    const strands = node.nodes.map((child) => visit(child, ctx, walk));
    // The later failure of a loser is dropped.
    for (const strand of strands) strand.catch(() => {});
    if (node.kind === "race") return Promise.race(strands);
    return node.settled
      ? (await Promise.allSettled(strands)).map(({ status }) => status)
      : Promise.all(strands);
  }
  const name = `${node.kind} ${node.nodes.map(({ kind }) => kind).join(" ")}`;
  const branches = node.nodes.map((child) => (c: Context) => visit(child, c, walk));
  if (node.kind === "race")
    return ctx.race(Object.fromEntries(branches.map((branch, i) => [`b${i}`, branch])), { name });
  if (!node.settled) return ctx.parallel(branches, { name });
  const settled = await ctx.parallel(branches, { name, mode: "settled" });
  return settled.map(({ status }) => status);
}
