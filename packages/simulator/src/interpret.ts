/** Interprets a tree as the body of a workflow. Proven in test/sim.test.ts. */

import {
  DurableError,
  type Context,
  type StandardSchema,
  type StepInfo,
  type Uncertain,
} from "@durable/core";
import type { SchemaResult } from "@durable/core/types";
import { attempts, type Tree } from "./tree.ts";
import type { Environment, Frame } from "./environment.ts";
import { carriedOn, chapterIn } from "./chapter-inputs.ts";
import { chunksOf, undo, work } from "./step-bodies.ts";
import { atPlace } from "./surroundings.ts";

/** Answers to a checked wait are objects with a text in `ok`; validation may take time. */
function answerSchema(environment: Environment, slowMs: number): StandardSchema<{ ok: string }> {
  const validate =
    slowMs === 0 ? checkAnswer : (value: unknown) => environment.pause(slowMs).then(() => checkAnswer(value));
  return { "~standard": { version: 1, vendor: "sim", validate } };
}

function checkAnswer(value: unknown): SchemaResult<{ ok: string }> {
  return typeof (value as { ok?: unknown } | null)?.ok === "string"
    ? { value: value as { ok: string } }
    : { issues: [{ message: "ok must be a text" }] };
}

export function bodyOf(
  tree: Tree,
  environment: Environment,
): (ctx: Context, given: unknown) => Promise<unknown> {
  return (ctx, given) => {
    const frame = { environment, runId: ctx.runId, given, place: "0" };
    return tree.kind === "chapters" ? inChapter(tree, ctx, frame) : interpret(tree, ctx, frame);
  };
}

/** The chapter that the input names; what it returns passes to the next one, shortened. */
async function inChapter(
  { nodes, leavesMs }: Tree & { kind: "chapters" },
  ctx: Context,
  frame: Frame,
): Promise<unknown> {
  const { given, chapter, carried } = chapterIn(frame.given);
  // Changed code may have fewer chapters.
  const index = Math.min(chapter, nodes.length) - 1;
  const value = await interpret(nodes[index] as Tree, ctx, childFrame(frame, index));
  if (chapter >= nodes.length) return [carried, value];
  if (leavesMs !== undefined) leaveOpen(leavesMs, ctx, frame);
  try {
    return await ctx.continueAs({ given, chapter: chapter + 1, carried: carriedOn(carried, value) });
  } catch (error) {
    // The loser of a plain race may be a child that has not ended.
    if (!DurableError.is(error, "open-child")) throw error;
    frame.environment.met("a border that an open child forbids");
    return [carried, error.code];
  }
}

function leaveOpen(ms: number, ctx: Context, frame: Frame): void {
  const { environment } = frame;
  const wait = ctx.suspend("ask in vain", { note: "free" });
  void small("mail ask in vain", ctx, frame, () => environment.mail(wait.token));
  void small("left behind", ctx, frame, () => environment.pause(ms).then(() => environment.nonce()));
}

/** How generated steps and streams are tried again. */
export const retry = { attempts, delay: 40, factor: 3 };

async function interpret(node: Tree, ctx: Context, frame: Frame): Promise<unknown> {
  switch (node.kind) {
    case "step":
      return inStep(node, ctx, frame);
    case "stream":
      return inStream(node, ctx, frame);
    case "child":
      return ctx.child(frame.environment.workflow(node.name), node.name, {
        name: node.name,
        deadline: node.deadlineMs,
      });
    case "spawn":
      // The id differs in every history, so it is not part of the output.
      await ctx.spawn(frame.environment.workflow(node.name), node.name, {
        onParentEnd: node.ends ? "cancel" : "leave",
      });
      return node.name;
    case "tag":
      ctx.tag({ [node.name]: node.value });
      return node.value;
    case "map":
      return overItems(node, ctx, frame);
    case "foreign":
      return afterForeign(node, ctx, frame);
    case "stray":
      return besideStray(node, ctx, frame);
    case "sleep":
      await ctx.sleep(node.ms, { name: node.name });
      return node.ms;
    case "cleanup":
      return cleanUp(node, ctx, frame);
    case "suspend":
      return ask(node, ctx, frame);
    case "receive":
    case "report":
      return withMail(node, ctx, frame);
    case "killer":
      return small(node.name, ctx, frame, () => frame.environment.die());
    case "fork":
      return forkOnce(node.name, ctx, frame);
    case "sequence":
    case "chapters":
      return inSequence(node.nodes, ctx, frame);
    case "loop":
      return inSequence(
        Array.from({ length: node.times }, () => node.node),
        ctx,
        frame,
      );
    case "attempt":
      return interpret(node.node, ctx, childFrame(frame, 0)).catch((error: unknown) => {
        if (!DurableError.is(error)) throw error;
        return error.code;
      });
    case "parallel":
    case "race":
      return inGroup(node, ctx, frame);
  }
}

/** A step whose work sees the context in which it was called. */
function small<T>(
  name: string,
  ctx: Context,
  { environment, runId, place, isNew }: Frame & { readonly isNew?: boolean },
  work: (info: StepInfo) => T | Promise<T>,
): Promise<T> {
  // Whether the result can be recorded is known where the work is.
  const begins = (info: StepInfo): unknown => {
    environment.begins(runId, place);
    return work(info);
  };
  return atPlace(place, () => ctx.step(name, begins, isNew === true ? { was: null } : {})) as Promise<T>;
}

function childFrame(frame: Frame, index: number): Frame {
  return { ...frame, place: `${frame.place}.${index}` };
}

function inStream(node: Tree & { kind: "stream" }, ctx: Context, frame: Frame): Promise<unknown> {
  return atPlace(frame.place, () =>
    ctx.stream(node.name, (info) => chunksOf(node, info, frame), {
      retry,
      ...(node.timeoutMs === undefined ? {} : { timeout: node.timeoutMs }),
    }),
  );
}

/** A fork does not fork again, because that would never end. */
function forkOnce(name: string, ctx: Context, frame: Frame): Promise<unknown> {
  return small(name, ctx, frame, ({ idempotencyKey }) =>
    ctx.runId.startsWith("fork-")
      ? "is a fork"
      : frame.environment.fork(ctx.runId, `fork-${idempotencyKey.slice(0, 12)}`),
  );
}

function inStep(node: Tree & { kind: "step" }, ctx: Context, frame: Frame): Promise<unknown> {
  const onUncertain =
    node.onUncertain === "reconcile"
      ? (uncertain: Uncertain) => {
          frame.environment.begins(frame.runId, frame.place);
          return frame.environment.lookUp(uncertain);
        }
      : node.onUncertain;
  const options = {
    ...(frame.environment.defaults ? {} : { retry }),
    ...(node.timeoutMs === null ? {} : { timeout: node.timeoutMs }),
    ...(node.declares === true ? { input: frame.given } : {}),
    ...(onUncertain === undefined ? {} : { onUncertain }),
    ...(node.limit === undefined ? {} : { quota: node.limit }),
    ...(node.compensate === undefined ? {} : { compensate: undo(node.compensate, frame) }),
  };
  const value = atPlace(frame.place, () => {
    const { comesTo } = frame.environment;
    comesTo?.();
    if (comesTo !== null) ctx.log.info(`comes to ${node.name}`);
    return ctx.step(node.name, (info) => work(node, info, frame), options);
  });
  return frame.environment.pairs === null ? value : paired(node.name, value, frame);
}

async function paired(name: string, given: Promise<unknown>, frame: Frame): Promise<unknown> {
  const { environment, place, runId } = frame;
  const value = await given;
  environment.pairs?.got(runId, place, { name, value });
  return value;
}

/** While the second step runs, the run is blocked, so the third one does not start. */
async function besideStray(
  { name, ms }: Tree & { kind: "stray" },
  ctx: Context,
  frame: Frame,
): Promise<unknown> {
  const { environment, runId } = frame;
  const before = await small(name, ctx, frame, () => environment.nonce());
  environment.stray(runId);
  const beside = await small(name, ctx, frame, () => environment.pause(ms).then(() => environment.nonce()));
  return [before, beside, await small(name, ctx, frame, () => environment.nonce())];
}

async function afterForeign(
  { name, ms }: Tree & { kind: "foreign" },
  ctx: Context,
  frame: Frame,
): Promise<unknown> {
  const { environment, place, runId } = frame;
  await environment.foreign(ms);
  const value = small(name, ctx, frame, () => {
    const nonce = environment.nonce();
    environment.pairs?.made(place, nonce);
    return nonce;
  });
  const got = await paired(name, value, frame);
  environment.pairs?.afterForeign(runId, name);
  return got;
}

function cleanUp(
  { name, ms, sleepMs, node, timeoutMs = 600_000 }: Tree & { kind: "cleanup" },
  ctx: Context,
  frame: Frame,
): void {
  const { environment } = frame;
  ctx.onCancel(
    async (c) => {
      await c.step("first", () => environment.pause(ms).then(() => environment.nonce()));
      if (sleepMs !== undefined) await c.sleep(sleepMs);
      if (node !== undefined) await interpret(node, c, childFrame(frame, 0));
      await c.step("second", () => environment.nonce());
    },
    { name, timeout: timeoutMs },
  );
}

function overItems(node: Tree & { kind: "map" }, ctx: Context, frame: Frame): Promise<unknown[]> {
  const { name, keyed, concurrency, deadlineMs: deadline } = node;
  const items = Array.from({ length: node.items }, (_, i) => i);
  const each = (c: Context, item: number): Promise<unknown> => {
    frame.environment.begins(frame.runId, frame.place);
    return interpret(node.node, c, childFrame(frame, item));
  };
  const options = {
    name,
    deadline,
    ...(keyed ? { key: (item: number) => `item ${item}` } : {}),
    ...(concurrency === null ? {} : { concurrency }),
  };
  return atPlace(frame.place, () => ctx.map(items, each, options));
}

async function ask(node: Tree & { kind: "suspend" }, ctx: Context, frame: Frame): Promise<unknown> {
  const { environment } = frame;
  const wait = ctx.suspend(node.name, {
    ...(node.timeoutMs === null ? {} : { timeout: node.timeoutMs }),
    ...(node.fallback ? { fallback: "no answer" } : {}),
    ...(node.checked ? { schema: answerSchema(environment, node.slowMs) } : {}),
    ...(node.was === undefined ? {} : { was: node.was }),
    note: node.checked ? "checked" : "free",
  });
  // A renamed wait is mailed once more.
  const isNew = node.was !== undefined;
  if (node.mailed)
    await small(`mail ${node.name}`, ctx, { ...frame, isNew }, () => environment.mail(wait.token));
  return wait;
}

function withMail(node: Tree & { kind: "receive" | "report" }, ctx: Context, frame: Frame): unknown {
  if (node.kind === "report") {
    ctx.report(Array.from({ length: node.size }, (_, i) => i));
    return node.size;
  }
  return ctx.receive(node.name, {
    ...(node.timeoutMs === null ? {} : { timeout: node.timeoutMs }),
    ...(node.fallback ? { fallback: "no message" } : {}),
    ...(node.checked ? { schema: answerSchema(frame.environment, node.slowMs) } : {}),
  });
}

async function inSequence(nodes: readonly Tree[], ctx: Context, frame: Frame): Promise<unknown[]> {
  const values: unknown[] = [];
  for (const [index, node] of nodes.entries())
    values.push(await interpret(node, ctx, childFrame(frame, index)));
  return values;
}

async function inGroup(
  node: Tree & { kind: "parallel" | "race" },
  ctx: Context,
  frame: Frame,
): Promise<unknown> {
  const { name, nodes, deadlineMs: deadline } = node;
  const { environment, runId, place } = frame;
  if (node.plain) {
    const strands = nodes.map((child, i) => interpret(child, ctx, childFrame(frame, i)));
    // A branch that loses a plain race may fail later; that failure is ignored.
    for (const strand of strands) strand.catch(() => {});
    if (node.kind === "race") return Promise.race(strands);
    return node.settled ? (await Promise.allSettled(strands)).map(settledValue) : Promise.all(strands);
  }
  const shared = node.shares ? small("shared", ctx, frame, () => environment.nonce() ?? "shared") : null;
  const branches = nodes.map((child, i) => async (c: Context) => {
    environment.begins(runId, place);
    // All branches continue in one turn. The first one wins, so the calls of the others come from branches
    // that may have lost.
    if (shared !== null) await shared;
    if (shared !== null && i === 0) return "first";
    if (shared !== null) for (let turns = 0; turns < 8; turns++) await Promise.resolve();
    return interpret(child, c, childFrame(frame, i));
  });
  if (node.kind === "race")
    return atPlace(place, () =>
      ctx.race(Object.fromEntries(branches.map((fn, i) => [`b${i}`, fn])), { name, deadline }),
    );
  const { concurrency, settled } = node;
  const limit = concurrency === null ? { deadline } : { deadline, concurrency };
  if (!settled) return atPlace(place, () => ctx.parallel(branches, { name, ...limit }));
  const all = atPlace(place, () => ctx.parallel(branches, { name, ...limit, mode: "settled" }));
  return (await all).map(settledValue);
}

function settledValue(settled: PromiseSettledResult<unknown>): unknown {
  return settled.status === "fulfilled" ? settled.value : settled.status;
}
