/** From a tree to a workflow, and to what a calm one must give. */

import {
  DurableError,
  FatalError,
  type Context,
  type SchemaResult,
  type StandardSchema,
  type StepInfo,
} from "@durable/core";
import type { FlowPlan } from "./plan.ts";
import type { Process } from "./process.ts";
import { attempts, type Tree } from "./tree.ts";

/** Which version of the code a process has. */
export type Code = "first" | "changed";

/** A workflow as the simulator runs it. */
export interface Program {
  readonly name: string;
  readonly input?: unknown;
  /** Checks and makes the input, where the workflow has a schema. */
  readonly schema?: StandardSchema;
  body(code: Code, around: Surroundings): (ctx: Context, input: never) => unknown;
  /** Does the work of a step; as it comes, by default. */
  readonly perform?: (process: Process, key: string, work: () => unknown) => Promise<unknown>;
  /** What a wait takes, or null when it is left to its deadline; `count` tells answers apart. */
  answer(
    wait: { readonly key: string; readonly expires: boolean },
    count: number,
  ): { readonly value: unknown } | null;
  /** An answer that no checked wait takes; absent where all answers must fit. */
  readonly rubbish?: unknown;
  /** True when a run may end in failure. */
  readonly mayFail: boolean;
  /** What is wrong with this output, which came from unchanged code; null when nothing is. */
  judge(output: unknown): string | null;
}

export function treeProgram({ name, tree, changed }: FlowPlan, calm: boolean): Program {
  const expected = calm ? JSON.stringify(calmOutput(tree)) : null;
  return {
    name,
    body: (code, around) => bodyOf(code === "changed" ? changed : tree, around),
    answer: ({ key }, count) => ({ value: calm ? calmAnswer(nameOf(key)) : { ok: `said ${count}` } }),
    rubbish: "rubbish",
    mayFail: !calm,
    judge: (output) =>
      expected === null || expected === JSON.stringify(output) ? null : `instead of ${expected}`,
  };
}

export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1).replace(/#\d+$/, "");
}

/** What the work of a generated workflow reaches for. */
export interface Surroundings {
  /** Time passes in the process that does the work. */
  pause(ms: number): Promise<void>;
  /** A value no other body ever gives; calm trees say what they give instead. */
  nonce(): string | null;
  /** Sends a token out into the world. */
  mail(token: string): void;
  /** Kills the process that does the work. */
  die(): Promise<never>;
  /** Forks the run at a step of its own, under an id that is the same at every attempt. */
  fork(runId: string, id: string): Promise<string>;
}

interface Walk {
  readonly around: Surroundings;
  /** Where the walk stands in the tree: equal at every pass. */
  readonly place: string;
}

/** Answers to a checked wait are objects with a text in `ok`; looking at them may take time. */
function answerSchema(around: Surroundings, slowMs: number): StandardSchema<{ ok: string }> {
  const validate = slowMs === 0 ? look : (value: unknown) => around.pause(slowMs).then(() => look(value));
  return { "~standard": { version: 1, vendor: "sim", validate } };
}

function look(value: unknown): SchemaResult<{ ok: string }> {
  return typeof (value as { ok?: unknown } | null)?.ok === "string"
    ? { value: value as { ok: string } }
    : { issues: [{ message: "ok must be a text" }] };
}

function bodyOf(tree: Tree, around: Surroundings): (ctx: Context) => Promise<unknown> {
  return (ctx) => visit(tree, ctx, { around, place: "0" });
}

async function visit(node: Tree, ctx: Context, walk: Walk): Promise<unknown> {
  switch (node.kind) {
    case "step": {
      const retry = { attempts, delay: 40, factor: 3 };
      const limit = node.timeoutMs === null ? {} : { timeout: node.timeoutMs };
      return ctx.step(node.name, (info) => work(node, info, walk), { retry, ...limit });
    }
    case "sleep":
      await ctx.sleep(node.ms, { name: node.name });
      return node.ms;
    case "suspend":
      return ask(node, ctx, walk.around);
    case "killer":
      return ctx.step(node.name, () => walk.around.die());
    case "fork":
      return ctx.step(node.name, ({ idempotencyKey }) =>
        // Forks of forks of forks would never end.
        ctx.runId.startsWith("fork-")
          ? "is a fork"
          : walk.around.fork(ctx.runId, `fork-${idempotencyKey.slice(0, 12)}`),
      );
    case "sequence":
      return inSequence(node.nodes, ctx, walk);
    case "loop":
      return inSequence(
        Array.from({ length: node.times }, () => node.node),
        ctx,
        walk,
      );
    case "attempt":
      return visit(node.node, ctx, at(walk, 0)).catch((error: unknown) => {
        if (!DurableError.is(error)) throw error;
        return error.code;
      });
    case "parallel":
    case "race":
      return inGroup(node, ctx, walk);
  }
}

function at(walk: Walk, index: number): Walk {
  return { ...walk, place: `${walk.place}.${index}` };
}

async function work(
  node: Tree & { kind: "step" },
  info: StepInfo,
  { around, place }: Walk,
): Promise<unknown> {
  if (node.ms > 0) await around.pause(node.ms);
  if (node.fails === 9) throw new FatalError("never works");
  if (info.attempt <= node.fails) throw new Error(`fails at attempt ${info.attempt}`);
  const nonce = around.nonce();
  if (nonce === null) return calmValue(node.name, place);
  if (!node.typed) return nonce;
  // What was returned is what counts, whatever becomes of the object afterwards.
  const value = { nonce, at: new Date(nonce.length), bag: new Set([nonce]), none: undefined };
  void around.pause(1).then(() => value.bag.clear());
  return value;
}

function calmValue(name: string, place: string): string {
  return `${name} at ${place}`;
}

function calmAnswer(name: string): unknown {
  return { ok: `answer to ${name}` };
}

async function ask(node: Tree & { kind: "suspend" }, ctx: Context, around: Surroundings): Promise<unknown> {
  const wait = ctx.suspend(node.name, {
    ...(node.timeoutMs === null ? {} : { timeout: node.timeoutMs }),
    ...(node.fallback ? { fallback: "nobody answered" } : {}),
    ...(node.checked ? { schema: answerSchema(around, node.slowMs) } : {}),
    note: node.checked ? "checked" : "free",
  });
  if (node.mailed) await ctx.step(`mail ${node.name}`, () => around.mail(wait.token));
  return wait;
}

async function inSequence(nodes: readonly Tree[], ctx: Context, walk: Walk): Promise<unknown[]> {
  const values: unknown[] = [];
  for (const [index, node] of nodes.entries()) values.push(await visit(node, ctx, at(walk, index)));
  return values;
}

async function inGroup(
  node: Tree & { kind: "parallel" | "race" },
  ctx: Context,
  walk: Walk,
): Promise<unknown> {
  const { name, nodes } = node;
  if (node.plain) {
    const strands = nodes.map((child, i) => visit(child, ctx, at(walk, i)));
    // A loser that fails later is nobody's business.
    for (const strand of strands) strand.catch(() => {});
    if (node.kind === "race") return Promise.race(strands);
    return node.settled ? (await Promise.allSettled(strands)).map(told) : Promise.all(strands);
  }
  const shared = node.shares ? ctx.step("shared", () => walk.around.nonce() ?? "shared") : null;
  const branches = nodes.map((child, i) => async (c: Context) => {
    // All branches go on in one turn; the first is done, and the others then ask in a branch that may be lost.
    if (shared !== null) await shared;
    if (shared !== null && i === 0) return "first";
    if (shared !== null) for (let turns = 0; turns < 8; turns++) await Promise.resolve();
    return visit(child, c, at(walk, i));
  });
  if (node.kind === "race")
    return ctx.race(Object.fromEntries(branches.map((fn, i) => [`b${i}`, fn])), { name });
  const { concurrency, settled } = node;
  const limit = concurrency === null ? {} : { concurrency };
  if (!settled) return ctx.parallel(branches, { name, ...limit });
  return (await ctx.parallel(branches, { name, ...limit, mode: "settled" })).map(told);
}

function told(settled: PromiseSettledResult<unknown>): unknown {
  return settled.status === "fulfilled" ? settled.value : settled.status;
}

/** What a calm tree gives, whatever happens on the way. */
function calmOutput(node: Tree, place = "0"): unknown {
  const inner = (child: Tree, index: number): unknown => calmOutput(child, `${place}.${index}`);
  switch (node.kind) {
    case "step":
      return node.fails === 9 ? undefined : calmValue(node.name, place);
    case "sleep":
      return node.ms;
    case "suspend":
      return calmAnswer(node.name);
    case "sequence":
    case "parallel":
      return node.nodes.map(inner);
    case "loop":
      return Array.from({ length: node.times }, (_, i) => inner(node.node, i));
    case "attempt":
      return node.node.kind === "step" && node.node.fails === 9 ? "step-failed" : inner(node.node, 0);
    case "killer":
      return undefined;
    case "fork":
    case "race":
      throw new Error(`A ${node.kind} is not calm.`);
  }
}
