/** Quotas and budgets of models and tools. */

import { createApp, durable, durableBudget, Journal, MemoryStorage, type App } from "@durable/core";
import { virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { durableModel, durableTools } from "../src/index.ts";
import { fakeModel, finish, type StreamPart } from "./support/fake-model.ts";
import { secret } from "./support/lab.ts";
import { latest } from "./support/versions.ts";

const { ai } = latest;

/** Each answer of the fake model has 10 tokens in and 5 out: it costs 15. */
const prices = { "fake-1": { input: 1_000_000, output: 1_000_000 } };

function setUp() {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  return { world, storage, secret };
}

/** A model that calls the tool `research` until it was asked for the last time. */
function agentModel(turns: number) {
  return fakeModel((_, number): StreamPart[] =>
    number >= turns
      ? [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "0" },
          { type: "text-delta", id: "0", delta: "done" },
          { type: "text-end", id: "0" },
          finish(),
        ]
      : [
          { type: "stream-start", warnings: [] },
          { type: "tool-call", toolCallId: `call-${number}`, toolName: "research", input: "{}" },
          finish("tool-calls"),
        ],
  );
}

const question = (n: number): string => `question ${n}`;

describe("a quota", () => {
  test("holds for models, by their estimate and by what they used", async () => {
    const base = setUp();
    const at: number[] = [];
    const model = fakeModel(() => {
      at.push(base.world.now());
      return "said";
    });
    const flow = durable("ask", async (ctx) => {
      for (const n of [1, 2, 3])
        await ai.generateText({ model: durableModel(ctx, model, { quota: "openai" }), prompt: question(n) });
    });
    const app = createApp({ ...base, bind: false, workflows: [flow], quotas: { openai: { tokens: 32 } } });
    await base.world.run(app.run(flow));
    expect(at.map((time) => Math.floor((time - (at[0] ?? 0)) / 60_000))).toEqual([0, 0, 1]);
  });

  test("a 429 of the provider slows calls of other runs, and its call is made again", async () => {
    const base = setUp();
    const at: number[] = [];
    let refused = false;
    const model = fakeModel(() => {
      at.push(base.world.now());
      if (refused) return "said";
      refused = true;
      throw new ai.APICallError({
        message: "Too many requests.",
        url: "https://provider.example",
        requestBodyValues: {},
        statusCode: 429,
        responseHeaders: { "retry-after": "30" },
        isRetryable: true,
      });
    });
    const flow = durable(
      "ask",
      async (ctx, n: number) =>
        (
          await ai.generateText({
            model: durableModel(ctx, model, { quota: "openai" }),
            prompt: question(n),
            abortSignal: new AbortController().signal,
          })
        ).text,
    );
    const made = (): App =>
      createApp({ ...base, bind: false, workflows: [flow], quotas: { openai: { requests: 100 } } });
    const later = new Promise<void>((resolve) => void base.world.timer(1_000, resolve));
    const outcomes = await base.world.run(
      Promise.all([made().run(flow, 1), later.then(() => made().run(flow, 2))]),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(at.map((time) => time - (at[0] ?? 0) >= 30_000)).toEqual([false, true, true]);
  });

  test("a model inside of a tool takes no second permit of its quota, and one of any other", async () => {
    const base = setUp();
    const model = fakeModel(() => "said");
    const flow = durable("ask", async (ctx) => {
      const answer = async (quota: string): Promise<string> =>
        (await ai.generateText({ model: durableModel(model, { quota }), prompt: quota })).text;
      const tools = durableTools(
        ctx,
        { research: { execute: async () => [await answer("openai"), await answer("search")] } },
        { research: { quota: "openai" } },
      );
      const tool = tools.research as { execute: (input: unknown, given: object) => Promise<unknown> };
      return tool.execute({}, { toolCallId: "call-1", messages: [] });
    });
    const quotas = { openai: { concurrent: 1, tokens: 1_000 }, search: { concurrent: 1, tokens: 1_000 } };
    const app = createApp({ ...base, bind: false, workflows: [flow], quotas });
    expect(await base.world.run(app.run(flow))).toMatchObject({ status: "completed" });
    const texts = (await base.storage.limits.texts("quota ")).map(({ name, value }) => {
      const [window, calls] = JSON.parse(value) as [string, object];
      const [, , , , ...parts] = JSON.parse(window) as [number, number, number, unknown, ...number[][]];
      const sums = [1, 2].map((n) => parts.reduce((sum, part) => sum + (part[n] ?? 0), 0));
      return [name, ...sums, Object.keys(calls).length];
    });
    // One request of the tool has the tokens of both answers in it, because they are metered for its step.
    expect(texts.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))).toEqual([
      ["quota openai", 1, 30, 0],
      ["quota search", 1, 15, 0],
    ]);
  });

  test.each(["quota", "budget"] as const)("a journal without a workflow refuses a %s", async (option) => {
    const journal = await Journal.open("j", { storage: new MemoryStorage() });
    const model = durableModel(
      journal,
      fakeModel(() => "said"),
      { [option]: option === "quota" ? "openai" : 5 },
    );
    await expect(ai.generateText({ model, prompt: "hello" })).rejects.toThrow(/needs a workflow/);
  });
});

describe("a budget", () => {
  test("stops an agent whose tools are agents, asks, and goes on without paying again", async () => {
    const base = setUp();
    const outer = agentModel(6);
    const inner = fakeModel(() => "found");
    const flow = durable(
      "agent",
      async (ctx) => {
        const tools = durableTools(ctx, {
          research: ai.tool({
            inputSchema: ai.jsonSchema({ type: "object", properties: {} }),
            execute: async () => (await ai.generateText({ model: durableModel(inner), prompt: "look" })).text,
          }),
        });
        const { text } = ai.streamText({
          model: durableModel(ctx, outer, { label: "agent" }),
          tools,
          prompt: "go",
          stopWhen: ai.stepCountIs(20),
        });
        return text;
      },
      { budget: 60 },
    );
    const made = (): App => createApp({ ...base, prices, bind: false, workflows: [flow] });
    const app = made();
    expect(await base.world.run(app.run(flow, undefined, { id: "r" }))).toMatchObject({
      status: "suspended",
      waiting: [{ key: "budget/limit", note: { spent: 60, most: 60 } }],
    });
    const calls = outer.calls.length + inner.calls.length;
    expect(calls).toBe(4);
    const outcome = await app.get("r").outcome();
    const [wait] = outcome.status === "suspended" ? outcome.waiting : [];
    expect(wait?.note).toHaveProperty("by", [
      { label: "agent", model: "fake-1", cost: 30 },
      { label: "research", model: "fake-1", cost: 30 },
    ]);
    await base.world.run(made().resume(wait?.token ?? "", { more: 1_000 }));
    expect(await app.get("r").outcome()).toMatchObject({ status: "completed", output: "done" });
    expect(outer.calls.length + inner.calls.length).toBe(6 + 5);
  });

  test("of a model holds for the run in which it is called", async () => {
    const base = setUp();
    const model = fakeModel(() => "said");
    const own = durableModel(model, { budget: { most: 40, onLimit: "fail" } });
    const flow = durable("ask", async (ctx) => {
      for (const n of [1, 2, 3, 4]) await ai.generateText({ model: own, prompt: question(n) });
      return ctx.runId;
    });
    const app = createApp({ ...base, prices, bind: false, workflows: [flow] });
    for (const id of ["a", "b"])
      expect(await base.world.run(app.run(flow, undefined, { id }))).toMatchObject({
        status: "failed",
        error: { code: "over-budget", details: { spent: 45, most: 40 } },
      });
    expect(model.calls).toHaveLength(6);
  });

  test("of a context can be given to a model, and tells what was spent", async () => {
    const base = setUp();
    const model = fakeModel(() => "said");
    const flow = durable("ask", async (ctx) => {
      const budget = durableBudget(ctx, { most: 1_000 });
      await ai.generateText({ model: durableModel(ctx, model, { budget }), prompt: question(1) });
      return [budget.spent, budget.most];
    });
    const app = createApp({ ...base, prices, bind: false, workflows: [flow] });
    expect(await base.world.run(app.run(flow))).toMatchObject({ status: "completed", output: [15, 1_000] });
  });
});
