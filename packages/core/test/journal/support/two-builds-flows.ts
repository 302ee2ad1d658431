/**
 * The same workflows for each of two builds. All but one use only what both builds have.
 */

import type * as core from "@durable/core";
import type { AnyWorkflow, Context, Workflow } from "@durable/core";
import { z } from "zod";

/** What the workflows did, by run and key, in the process that did it. */
export type Ran = string[];

/** What the journey returns: what it was told and what it drew, and the times, which a crash moves. */
export interface Journey {
  readonly said: object;
  readonly times: readonly number[];
}

export interface Flows {
  readonly all: readonly AnyWorkflow[];
  readonly journey: Workflow<{ readonly to: string }, Journey>;
  readonly draft: Workflow<number, unknown>;
  readonly series: Workflow<number, unknown>;
  readonly ran: Ran;
}

const pages = (from: number): string[] =>
  Array.from({ length: 12 }, (_, n) => `page ${from + n}: ${"words of a long text, ".repeat(40)}`);

export function flowsOf({ durable, FatalError }: typeof core): Flows {
  const ran: Ran = [];
  const done = (info: { readonly key: string; readonly idempotencyKey: string }, ctx: Context): string => {
    ran.push(`${ctx.runId} ${info.key}`);
    return info.idempotencyKey;
  };

  const errand = durable("errand", async (ctx, name: string) => {
    const key = await ctx.step("fetch", (info) => done(info, ctx));
    if (name === "lost") throw new FatalError("nothing found");
    const asked = name === "shy" ? await ctx.suspend<string>("ask", { note: { name } }) : "not asked";
    return { runId: ctx.runId, key, asked, draw: ctx.random() };
  });

  /** Steps, draws, blobs, a stream, branches, waits, children, a sleep, a retry and a late answer with a schema. */
  const journey = durable("journey", async (ctx, input: { readonly to: string }) => {
    const plan = await ctx.step("plan", (info) => ({ to: input.to, key: done(info, ctx) }), { input });
    const draws = [ctx.random(), ctx.uuid("ticket")];
    const began = ctx.now();
    const book = await ctx.step("book", (info) => [done(info, ctx), ...pages(0)]);
    const chunks = await ctx.stream("talk", async function* (info) {
      yield done(info, ctx);
      yield* pages(3);
    });
    const both = await ctx.parallel({
      visa: (c) => c.suspend<string>("visa", { note: { to: input.to } }),
      errand: (c) => c.child(errand, "shy"),
    });
    const lost = await ctx.child(errand, "lost", { name: "search" }).catch((error: Error) => error.message);
    await ctx.sleep("3 days");
    const late = await ctx.child(errand, "late", { name: "last-errand" });
    const flaky = await ctx.step(
      "flaky",
      (info) => {
        if (info.attempt === 1) throw new Error("once");
        return done(info, ctx);
      },
      { retry: { attempts: 2, delay: "1h", jitter: false } },
    );
    const rated = await ctx.suspend("rate", { schema: z.object({ stars: z.number() }), timeout: "30 days" });
    const end = await ctx.step("end", (info) => done(info, ctx));
    const after = [ctx.random(), ctx.uuid("ticket")];
    const said = { plan, draws, book, chunks, both, lost, late, flaky, rated, end, after };
    return { said, times: [began, ctx.now()] };
  });

  /** A short run with one wait, for forks. */
  const draft = durable("draft", async (ctx, n: number) => {
    const text = await ctx.step("text", (info) => `${n} ${done(info, ctx)}`);
    const first = await ctx.suspend<string>("first");
    const more = await ctx.step("more", (info) => `${first} ${done(info, ctx)}`);
    const second = await ctx.suspend<string>("second");
    return { text, first, more, second, draws: [ctx.random(), ctx.uuid()], now: ctx.now() };
  });

  /** Asks, and goes on as often as it is told to. The build of format 2 has no chapters, and ends. */
  const series = durable("series", async (ctx, n: number) => {
    const part = await ctx.step("part", (info) => [done(info, ctx), ...pages(n)]);
    const told = await ctx.suspend<string>("go");
    if (told === "on" && "continueAs" in ctx) return ctx.continueAs(n + 1);
    return { n, told, part };
  });

  return { all: [errand, journey, draft, series], journey, draft, series, ran };
}

/** Steps that take a moment of real time: for processes that are killed. */
export function tallyOf({ durable }: typeof core, begin: (runId: string, key: string) => void) {
  return durable("tally", async (ctx, count: number) => {
    const keys: string[] = [];
    for (let n = 0; n < count; n++) {
      const key = await ctx.step(`part-${n}`, async (info) => {
        begin(ctx.runId, info.key);
        await new Promise((resolve) => setTimeout(resolve, 10));
        return info.idempotencyKey;
      });
      keys.push(key);
    }
    return keys;
  });
}
