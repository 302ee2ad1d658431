/**
 * The workflows whose journals lie in test/golden. They stand for code that was written when format 1 was new:
 * changing one changes what the journals prove. New ground gets a new workflow and new journals.
 */

import { durable, FatalError, RetryError, type Context } from "@durable/core";
import { z } from "zod";

/** How long a step takes: no time, but where the journals are made. */
export const pace = { wait: (): Promise<void> => Promise.resolve() };

/** A value of every kind the codec has a tag for, and a few that stand for themselves. */
function everyValue(): Record<string, unknown> {
  const shared = { name: "shared" };
  const cycle: { self?: unknown; list: unknown[] } = { list: [shared, shared] };
  cycle.self = cycle;
  const sparse: unknown[] = [];
  sparse[0] = 1;
  sparse[2] = 3;
  const error = new TypeError("of a type", { cause: new RangeError("out of range") });
  delete error.stack;
  delete (error.cause as Error).stack;
  return {
    plain: [null, true, 1.5, "text", { nested: ["list"] }, "\u{1D11E} \ud800"],
    undefined: undefined,
    numbers: [Number.NaN, Number.POSITIVE_INFINITY, -0],
    bigint: 12_345_678_901_234_567_890n,
    date: new Date(0),
    map: new Map<unknown, unknown>([[{ key: 1 }, new Set(["a"])]]),
    set: new Set([1, "two"]),
    regexp: /a+b/giu,
    url: new URL("https://example.org/a?b=c"),
    error,
    bytes: [new Uint8Array([1, 2, 3]), new Float64Array([0.5]), new Uint8Array([9]).buffer],
    sparse,
    dollar: { $: "not a tag" },
    shared: [shared, shared],
    cycle,
  };
}

export const sequence = durable("sequence", async (ctx, input: { readonly n: number }) => {
  const plan = await ctx.step("plan", () => pace.wait().then(() => ({ n: input.n, made: new Date(0) })), {
    input,
  });
  const values = await ctx.step("values", everyValue);
  const drafts: number[] = [];
  for (let i = 0; i < 3; i++) drafts.push(await ctx.step("draft", () => i));
  await ctx.sleep("3 days");
  await ctx.sleep(new Date(Date.UTC(2026, 1, 1)), { name: "until-february" });
  const flaky = await ctx.step(
    "flaky",
    ({ attempt }) => {
      if (attempt === 1) throw new Error("once");
      if (attempt === 2) throw new RetryError("twice", { after: "1m" });
      return attempt;
    },
    { retry: { attempts: 4, delay: "1m", jitter: false } },
  );
  const caught = await ctx
    .step("fatal", () => {
      throw new FatalError("no");
    })
    .catch((error: Error) => error.message);
  const year = new Date(ctx.now()).getUTCFullYear();
  return {
    plan,
    values,
    drafts,
    flaky,
    caught,
    year,
    draws: [ctx.random(), ctx.uuid("order"), ctx.random()],
    version: ctx.version,
  };
});

export const reviews = durable("reviews", async (ctx) => {
  const review = async (c: Context, name: string) => {
    const pulled = await c.step("pull", () => name);
    const answer = await c.suspend(name, {
      schema: z.object({ ok: z.boolean(), by: z.string().default("nobody") }),
      note: { asks: name },
    });
    return [pulled, answer, await c.step("file", () => "filed")];
  };
  const both = await ctx.parallel({
    credit: (c) => review(c, "credit"),
    appraisal: (c) => review(c, "appraisal"),
  });
  const late = await ctx.suspend("late", { timeout: "2h", fallback: "nobody" });
  const never = await ctx.suspend("never", { timeout: "1h" }).catch((error: { code: string }) => error.code);
  const mailed = ctx.suspend<number>("mailed");
  await ctx.step("mail", () => mailed.token.length);
  return { both, late, never, mailed: await mailed };
});

export const branches = durable("branches", async (ctx) => {
  const parts = [0, 1, 2].map((i) => (c: Context) => c.step("part", () => i));
  const list = await ctx.parallel(parts, { concurrency: 2 });
  const settled = await ctx.parallel(
    {
      good: (c) => c.step("a", () => 1),
      bad: (c) => c.step("b", () => Promise.reject(new FatalError("bad"))),
    },
    { mode: "settled", name: "tries" },
  );
  const first = await ctx.race({
    quick: (c) => c.step("q", () => "q"),
    slow: (c) => c.sleep("1y"),
    never: (c) => c.suspend("never"),
  });
  const round = await ctx.race(
    { answer: (c) => c.suspend("ok"), timer: (c) => c.sleep("1h") },
    { name: "round" },
  );
  const plain = await Promise.all([ctx.step("x", () => 1), ctx.step("y", () => 2), ctx.sleep(5)]);
  return { list, good: settled.good, bad: settled.bad.status, first, round: round.name, plain };
});

export const failing = durable("failing", async (ctx) => {
  await ctx.step("before", () => "done");
  return ctx.step("charge", () => Promise.reject(new FatalError("The card was declined.")));
});

export const renamed = durable("renamed", async (ctx) => {
  // It had a step "draft" once: its result is left over.
  const text = await ctx.step("write", () => "written");
  return [text, await ctx.suspend<string>("approve")];
});

/** `renamed` as it was when its run began. */
export const renamedBefore = durable("renamed", async (ctx) => {
  const text = await ctx.step("draft", () => "drafted");
  return [text, await ctx.suspend<string>("approve")];
});

export const goldenFlows = [sequence, reviews, branches, failing, renamed];
