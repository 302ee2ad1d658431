/** The workflows of generated programs. Each does the same on every storage, whatever else happens. */

import { durable, FatalError, type AnyWorkflow } from "@durable/core";

/** What a program changes while it runs. */
export interface Weather {
  /** While it is true, the step `b` of `fragile` fails. */
  storm: boolean;
}

export interface Input {
  readonly n: number;
  readonly key: string;
}

export const flowNames = [
  "steps",
  "ask",
  "inbox",
  "fragile",
  "nap",
  "book",
  "family",
  "saga",
  "slotted",
  "rated",
] as const;
export type FlowName = (typeof flowNames)[number];

export function flowsOf(weather: Weather): readonly AnyWorkflow[] {
  const steps = durable(
    "steps",
    async (ctx, input: Input) => {
      const a = await ctx.step("a", () => input.n);
      ctx.tag({ stage: `n${a}` });
      return ctx.step("b", () => ({ a, of: input.key }));
    },
    { fair: { key: ({ key }) => key, weight: ({ n }) => 1 + (n % 2) } },
  );
  const ask = durable("ask", async (ctx, input: Input) => {
    const a = await ctx.step("a", () => input.n);
    ctx.report({ a });
    const answer = await ctx.suspend("go", { timeout: "2 hours", fallback: "late" });
    return ctx.step("b", () => [a, answer]);
  });
  const inbox = durable("inbox", async (ctx, _input: Input) => {
    const first = await ctx.receive("news");
    return [first, await ctx.receive("news", { timeout: "1 hour", fallback: null })];
  });
  const fragile = durable(
    "fragile",
    async (ctx, input: Input) => {
      await ctx.step("a", () => input.n);
      return ctx.step("b", () => {
        if (weather.storm) throw new FatalError("storm");
        return "calm";
      });
    },
    { retry: false, deadline: "5 hours" },
  );
  const nap = durable("nap", async (ctx, input: Input) => {
    await ctx.sleep(`${input.n + 1} minutes`);
    return ctx.step("a", () => input.n);
  });
  const book = durable("book", async (ctx, input: Input): Promise<unknown> => {
    await ctx.step("write", () => "x".repeat(5_000));
    return input.n < 2 ? ctx.continueAs({ ...input, n: input.n + 1 }) : ctx.suspend("go");
  });
  const family = durable("family", async (ctx, input: Input) => {
    await ctx.spawn(nap, input, {
      id: `${ctx.runId}-spawned`,
      onParentEnd: input.n > 1 ? "cancel" : "leave",
    });
    return ctx.child(ask, input);
  });
  const saga = durable("saga", async (ctx, input: Input) => {
    for (const name of ["a", "b"]) await ctx.step(name, () => name, { compensate: () => {} });
    if (input.n > 1) throw new FatalError("no");
    await ctx.suspend("go");
  });
  const slotted = durable("slotted", (ctx, input: Input) => ctx.step("a", () => input.n), {
    concurrency: { max: 1, key: ({ key }) => key },
    fair: ({ n }) => `n${n}`,
  });
  const rated = durable("rated", (ctx, input: Input) => ctx.step("a", () => input.n), {
    rate: { max: 1, per: "10 minutes", key: ({ key }) => key },
    tags: ({ key }) => ({ key }),
  });
  return [steps, ask, inbox, fragile, nap, book, family, saga, slotted, rated];
}
