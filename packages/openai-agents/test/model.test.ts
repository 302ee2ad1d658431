/** M1 to M3: calls of models, streamed and not, with the real package and a fake provider. */

import {
  createApp,
  currentStep,
  durable,
  MemoryStorage,
  type Context,
  type Outcome,
  type Usage,
} from "@durable/core";
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIProvider,
  run,
  Runner,
  RunState,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { clientRetry } from "@durable/core";
import {
  durableApprovals,
  durableModel,
  durableProvider,
  durableTools,
  type ModelOptions,
} from "../src/index.ts";
import { clerk, deskOf, ideal } from "./support/desk.ts";
import { Provider, type Heard, type Said } from "./support/provider.ts";

setTracingDisabled(true);
const secret = "a secret for tests, of no worth";
const retry = { ...clientRetry, delay: 1 };

async function provided(
  answer: (heard: Heard) => Said = () => ({ text: "Hello there." }),
): Promise<Provider> {
  const provider = await new Provider(answer).open();
  onTestFinished(() => provider.close());
  return provider;
}

function modelOf({ baseURL }: Provider) {
  return new OpenAIChatCompletionsModel(new OpenAI({ apiKey: "key", baseURL, maxRetries: 0 }), "m");
}

/** Drives the run anew, as another process would: its body ends with a wait. */
function livesOf<T>(body: (ctx: Context) => Promise<T>, more: { readonly storage?: MemoryStorage } = {}) {
  const { storage = new MemoryStorage() } = more;
  const seen: { value?: T; error?: unknown } = {};
  const flow = () =>
    durable(
      "flow",
      async (ctx) => {
        try {
          seen.value = await body(ctx);
        } catch (error) {
          seen.error = error;
        }
        await ctx.suspend("more");
      },
      { storage, secret },
    );
  const live = async () => {
    delete seen.value;
    delete seen.error;
    const outcome: Outcome<unknown> = await flow().run(undefined, { id: "r" });
    return { outcome, ...seen };
  };
  const resume = async (token: string, answer: unknown) => {
    delete seen.value;
    await flow().resume(token, answer);
    return { outcome: await flow().run(undefined, { id: "r" }), ...seen };
  };
  return { live, resume, entries: () => flow().get("r").entries() };
}

async function usagesOf(lives: { readonly entries: () => Promise<readonly object[]> }): Promise<Usage[]> {
  return (await lives.entries()).flatMap((entry) =>
    "usage" in entry ? ((entry.usage as Usage[] | undefined) ?? []) : [],
  );
}

const bill = { model: "m", inputTokens: 100, cachedInputTokens: 40, outputTokens: 10 };

describe.each([false, true])("streamed: %s", (stream) => {
  const ask = async (agent: Agent) => {
    if (!stream) return (await run(agent, "Hi.")).finalOutput;
    const result = await run(agent, "Hi.", { stream: true });
    let words = "";
    for await (const text of result.toTextStream()) words += text;
    await result.completed;
    expect(result.finalOutput).toBe(words);
    return words;
  };
  const agentOf = (provider: Provider, options: ModelOptions = {}) =>
    new Agent({
      name: "a",
      instructions: "Be kind.",
      model: durableModel(modelOf(provider), { retry, ...options }),
    });

  test("one request, the same on replay, metered", async () => {
    const provider = await provided();
    const lives = livesOf(() => ask(agentOf(provider)));
    expect((await lives.live()).value).toBe("Hello there.");
    expect((await lives.live()).value).toBe("Hello there.");
    expect(provider.requests).toBe(1);
    expect(await usagesOf(lives)).toMatchObject([{ ...bill, label: stream ? "stream" : "generate" }]);
  });

  test.each([
    [500, {}, 3],
    [429, { "retry-after": "0.02" }, 3],
    [401, {}, 1],
  ] as const)("a %i", async (status, headers, requests) => {
    const provider = await provided();
    provider.status = () => ({ status, headers });
    const lives = livesOf(() => ask(agentOf(provider)));
    const first = await lives.live();
    const second = await lives.live();
    expect([provider.requests, first.error, second.error]).toMatchObject([requests, { status }, { status }]);
  });

  test("a connection that is cut, before the first word and after it", async () => {
    for (const [after, requests] of stream
      ? [
          [1, 2],
          [2, 1],
        ]
      : [
          [1, 2],
          [2, 2],
        ]) {
      const provider = await provided();
      provider.paceMs = 20;
      provider.cutAfter = (number) => (number === 1 ? (after as number) : Number.POSITIVE_INFINITY);
      const lives = livesOf(() => ask(agentOf(provider)));
      const first = await lives.live();
      const second = await lives.live();
      expect([provider.requests, first.error === undefined]).toEqual([requests, requests === 2]);
      expect([second.value, String(second.error)]).toEqual([first.value, String(first.error)]);
    }
  });

  test("agents, handoff, tools and an approval: the answer, effects and requests are those of one life", async () => {
    const provider = await provided(clerk);
    const effects: string[] = [];
    const body = deskOf(provider.baseURL, async (name) => {
      effects.push(name);
      return "paid";
    });
    const lives = livesOf((ctx) => body(ctx, stream));
    const { outcome } = await lives.live();
    if (outcome.status !== "suspended") throw new Error(JSON.stringify(outcome));
    expect(outcome.waiting[0]?.note).toMatchObject({
      tool: "pay",
      toolCallId: "call_p",
      input: { what: "the pay of a train" },
    });
    const answered = await lives.resume(outcome.waiting[0]?.token ?? "", true);
    const output = "All is booked and paid, says answer 4 of the model.";
    expect(answered.value).toMatchObject({ output });
    expect((await lives.live()).value).toEqual(answered.value);
    expect([provider.requests, effects]).toEqual([ideal.calls, ["book", "note", "pay"]]);
    expect(await usagesOf(lives)).toHaveLength(4);
  });

  test("a quota and a budget hold", async () => {
    const provider = await provided();
    const flow = durable("ask", async () => ask(agentOf(provider, { quota: "acme" })));
    const rich = durable("rich", async () =>
      ask(agentOf(provider, { budget: { most: 0.0001, onLimit: "fail" }, name: "m" })),
    );
    const app = createApp({
      workflows: [flow, rich],
      bind: false,
      storage: new MemoryStorage(),
      secret,
      prices: { m: { input: 1_000, output: 1_000 } },
      quotas: { acme: { requests: 1, per: "1 hour" } },
    });
    expect(await app.run(flow, undefined, { id: "a" })).toMatchObject({ status: "completed" });
    expect(await app.run(flow, undefined, { id: "b" })).toMatchObject({ status: "suspended" });
    expect(await app.run(rich, undefined, { id: "c" })).toMatchObject({ status: "failed" });
    expect(provider.requests).toBe(1);
  });

  test("in the work of a step a call is metered there; outside of runs it is made as usual", async () => {
    const provider = await provided();
    const agent = agentOf(provider);
    const lives = livesOf((ctx) => ctx.step("research", async () => String(await ask(agent))));
    expect((await lives.live()).value).toBe("Hello there.");
    expect((await lives.live()).value).toBe("Hello there.");
    expect(await usagesOf(lives)).toMatchObject([bill]);
    expect([provider.requests, await ask(agent)]).toEqual([1, "Hello there."]);
  });
});

test("words come before the answer is complete", async () => {
  const provider = await provided();
  const read = Promise.withResolvers<void>();
  provider.paceMs = 1;
  let sent = 0;
  let sentAtFirst = 0;
  provider.onEvent = () => void (sent += 1);
  const agent = new Agent({ name: "a", model: durableModel(modelOf(provider)) });
  const lives = livesOf(async () => {
    const result = await run(agent, "Hi.", { stream: true });
    for await (const text of result.toTextStream()) {
      if (text !== "" && sentAtFirst === 0) sentAtFirst = sent;
      read.resolve();
    }
    await result.completed;
  });
  await lives.live();
  expect(sentAtFirst).toBeGreaterThan(0);
  expect(sentAtFirst).toBeLessThan(sent);
});

test("a provider names its models; agents at the same time find their own records", async () => {
  const provider = await provided(({ system, number }) => ({ text: `${system} ${number}` }));
  const { baseURL } = provider;
  const client = new OpenAI({ apiKey: "key", baseURL, maxRetries: 0 });
  const openai = new OpenAIProvider({ openAIClient: client, useResponses: false });
  const lives = livesOf(async (ctx) => {
    const runner = new Runner({ modelProvider: durableProvider(ctx, openai), tracingDisabled: true });
    const agents = ["x", "y", "y"].map((name) => new Agent({ name, instructions: name, model: "m" }));
    const results = await Promise.all(agents.map((agent) => runner.run(agent, "Hi.")));
    return results.map(({ finalOutput }) => finalOutput);
  });
  const { value } = await lives.live();
  expect([(await lives.live()).value, provider.requests]).toEqual([value, 3]);
});

test("a refusal with a reason reaches the model, and a state that was written as text goes on", async () => {
  const provider = await provided(clerk);
  const client = new OpenAI({ apiKey: "key", baseURL: provider.baseURL, maxRetries: 0 });
  const parameters = z.object({ what: z.string() });
  const acting = (name: string, needsApproval = false) =>
    tool({ name, description: name, parameters, needsApproval, execute: () => name });
  const agent = new Agent({
    name: "clerk",
    model: durableModel(new OpenAIChatCompletionsModel(client, "m")),
    tools: durableTools([acting("transfer_to_clerk"), acting("book"), acting("note"), acting("pay", true)]),
  });
  const lives = livesOf(async (ctx) => {
    let result = await run(agent, "Book the train.");
    while (result.interruptions.length > 0) {
      const { interruptions } = result;
      const text = await ctx.step("state", () => result.state.toString());
      const state = await RunState.fromString<undefined, typeof agent>(agent, text);
      expect(interruptions).toHaveLength(1);
      result = await run(
        agent,
        await durableApprovals(ctx, { state, interruptions: state.getInterruptions() }),
      );
    }
    return result.finalOutput;
  });
  const { outcome } = await lives.live();
  const token = outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? "") : "";
  const { value } = await lives.resume(token, { approved: false, reason: "too dear" });
  expect(value).toMatch(/All is booked and too dear, says answer 4/);
  expect((await lives.live()).value).toBe(value);
});

test("tools: a failure goes to the model once, with `errorFunction: null` it is retried; keys are stable", async () => {
  const provider = await provided(({ results }) =>
    results.length === 0
      ? {
          calls: [
            { id: "1", tool: "bad", input: {} },
            { id: "2", tool: "flaky", input: {} },
          ],
        }
      : { text: results.join(" | ") },
  );
  const keys: (string | undefined)[] = [];
  let bad = 0;
  const parameters = z.object({});
  const tools = durableTools(
    [
      tool({
        name: "bad",
        description: "b",
        parameters,
        execute: () => Promise.reject(new Error(`broken ${++bad}`)),
      }),
      tool({
        name: "flaky",
        description: "f",
        parameters,
        errorFunction: null,
        execute: () => {
          keys.push(currentStep()?.idempotencyKey);
          if (keys.length === 1) throw new Error("once");
          return "fine";
        },
      }),
    ],
    { flaky: { retry: { attempts: 2, delay: 1 } } },
  );
  const agent = new Agent({ name: "a", model: durableModel(modelOf(provider)), tools });
  const lives = livesOf(async () => (await run(agent, "Hi.")).finalOutput);
  const { value } = await lives.live();
  expect(value).toMatch(/^An error occurred .* \| fine$/);
  expect([(await lives.live()).value, bad, keys.length, new Set(keys).size]).toEqual([value, 1, 2, 1]);
});

test("a changed question stops the run before it is asked; with `ask` it is asked", async () => {
  const provider = await provided();
  const storage = new MemoryStorage();
  const life = (instructions: string, onChange?: "ask") =>
    livesOf(
      async () =>
        (
          await run(
            new Agent({ name: "a", instructions, model: durableModel(modelOf(provider), { onChange }) }),
            "Hi.",
          )
        ).finalOutput,
      { storage },
    ).live();
  await life("one");
  expect((await life("two")).outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
  expect(provider.requests).toBe(1);
  expect((await life("two", "ask")).value).toBe("Hello there.");
});

test("misspelt options are refused, and approvals outside of a workflow", async () => {
  const provider = await provided();
  expect(() => durableModel(modelOf(provider), { quotas: "x" } as ModelOptions)).toThrow(/quotas/);
  const pay = tool({ name: "pay", description: "p", parameters: z.object({}), execute: () => "x" });
  expect(() => durableTools([pay], { Pay: {} })).toThrow(/Pay/);
  expect(() => durableTools([pay], { pay: { retries: 1 } as object })).toThrow(/retries/);
  const state = { approve: () => {}, reject: () => {} };
  await expect(durableApprovals({ state })).rejects.toMatchObject({ code: "invalid-options" });
});
