/** One workflow as it was when a run parked, and as later deploys have it. None of them fits the run. */

import { durable, type Context } from "@durable/core";

const pay = (ctx: Context, name: string) => ctx.step(name, ({ idempotencyKey }) => idempotencyKey.length);

export const before = durable("changes", async (ctx) => {
  await pay(ctx, "charge");
  return ctx.suspend<string>("ok");
});

export const codes = {
  "a step turned into a sleep": async (ctx: Context) => {
    await ctx.sleep("1 day", { name: "charge" });
    return ctx.suspend<string>("ok");
  },
  "a paid step renamed": async (ctx: Context) => {
    await pay(ctx, "charge-card");
    return ctx.suspend<string>("ok");
  },
  "the wait renamed": async (ctx: Context) => {
    await pay(ctx, "charge");
    return ctx.suspend<string>("approve");
  },
  "the wait removed": (ctx: Context) => pay(ctx, "charge"),
  "the wait removed, and a plain step after it": async (ctx: Context) => {
    await pay(ctx, "charge");
    return ctx.step("publish", () => 1);
  },
};

export type Change = keyof typeof codes;

export const after = (change: Change) =>
  durable("changes", codes[change] as (ctx: Context) => Promise<unknown>);
