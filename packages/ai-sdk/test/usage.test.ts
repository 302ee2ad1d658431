import { durable, MemoryStorage, type Context, type Storage } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { systemWorld } from "@durable/core/storage";
import { faultyStorage } from "@durable/testing";
import { describe, expect, test, vi } from "vitest";
import { durableModel, durableTools, usageOf } from "../src/index.ts";
import { meter } from "../src/meter.ts";
import { fakeModel, words } from "./support/fake-model.ts";
import { Lab } from "./support/lab.ts";
import { Provider } from "./support/provider.ts";
import { latest, versions } from "./support/versions.ts";

describe.each(versions.map((version) => [version.name, version] as const))(
  "%s",
  (_, { ai, models, embedding }) => {
    test("what the provider reports is kept with the step: text, streams and embeddings", async () => {
      const server = await Provider.open(() => ({ text: "one two" }));
      const lab = new Lab();
      try {
        await lab.drive(async (ctx) => {
          const model = durableModel(ctx, models.chat(server.url));
          await ai.generateText({ model, prompt: "a" });
          await ai.streamText({ model: durableModel(ctx, models.compatible(server.url)), prompt: "b" }).text;
          await ai.embedMany({ model: durableModel(ctx, embedding(server.url)), values: ["c"] });
        });
      } finally {
        await server.close();
      }
      const { steps, total } = usageOf(await lab.entries());
      expect(
        steps.map(({ key, inputTokens, outputTokens }) => [key.split(" ")[0], inputTokens, outputTokens]),
      ).toEqual([
        ["generate", 11, 7],
        ["stream", 11, 7],
        ["embed", 3, 0],
      ]);
      expect(total).toMatchObject({ inputTokens: 25, outputTokens: 14, cost: null });
      expect(total.usage.map(({ model }) => model)).toEqual(["scripted", "scripted", "scripted"]);
    });

    test("an agent inside a tool is counted once, for the step of the tool", async () => {
      const server = await Provider.open(() => ({ text: "one two" }));
      const lab = new Lab();
      const inner = durableModel(models.chat(server.url));
      const nested = async (): Promise<string> => {
        const whole = await ai.generateText({ model: inner, prompt: "a" });
        const streamed = await ai.streamText({ model: inner, prompt: "b" }).text;
        return whole.text + streamed;
      };
      try {
        await lab.drive(async (ctx) => {
          const { research } = durableTools(ctx, { research: { execute: nested } });
          await (research.execute as (input: unknown, given: object) => Promise<string>)(
            {},
            { toolCallId: "c", messages: [] },
          );
          await ctx.step("by hand", nested);
        });
      } finally {
        await server.close();
      }
      const { steps, total } = usageOf(await lab.entries());
      expect(steps.map(({ key, inputTokens }) => [key.split(" ")[0], inputTokens])).toEqual([
        ["research", 22],
        ["by", 22],
      ]);
      expect(total).toMatchObject({ inputTokens: 44, outputTokens: 28 });
    });
  },
);

test("cached and hidden tokens are distinguished, costs follow the given prices, and replays are savings", async () => {
  const lab = new Lab();
  const model = fakeModel((_, number) => `answer ${number}`);
  const ask = (count: number) => async (ctx: Context) => {
    const own = durableModel(ctx, model);
    for (let i = 0; i < count; i++) await latest.ai.generateText({ model: own, prompt: `${i}` });
  };
  await lab.drive(ask(2));
  const before = (await lab.entries()).length;
  await lab.drive(ask(3));
  // Per million: 6 at 1, 4 from the cache at 0.5, 5 at 10.
  const prices = { "fake-1": { input: 1, cachedInput: 0.5, output: 10 } };
  const { steps, total, paid, saved } = usageOf(await lab.entries(), { prices, before });
  const cost = 58 / 1_000_000;
  expect(steps.map(({ replayed }) => replayed)).toEqual([true, true, false]);
  expect(steps[0]?.usage).toEqual([
    {
      model: "fake-1",
      provider: "fake",
      inputTokens: 10,
      outputTokens: 5,
      cachedInputTokens: 4,
      reasoningTokens: 2,
    },
  ]);
  expect(steps[0]?.cost).toBeCloseTo(cost, 12);
  expect(total).toMatchObject({ inputTokens: 30, outputTokens: 15 });
  expect(total.cost).toBeCloseTo(3 * cost, 12);
  expect(paid.cost).toBeCloseTo(cost, 12);
  expect(saved.cost).toBeCloseTo(2 * cost, 12);
  expect(usageOf(await lab.entries(), { prices: { other: { input: 1, output: 1 } } }).total.cost).toBeNull();
});

test.each([
  [
    "since version 6, in the usage",
    { usage: { inputTokens: { total: 100, cacheRead: 30, cacheWrite: 50 }, outputTokens: { total: 1 } } },
  ],
  [
    "in version 5, in the metadata of Anthropic",
    {
      usage: { inputTokens: 20, cachedInputTokens: 30, outputTokens: 1 },
      providerMetadata: { anthropic: { cacheCreationInputTokens: 50 } },
    },
  ],
])("tokens that are written to a cache are counted and priced: %s", async (_, answer) => {
  const lab = new Lab();
  await lab.drive((ctx) =>
    ctx.step("ask", (info) => meter(info, { modelId: "m", provider: "anthropic" }, answer)),
  );
  const { total } = usageOf(await lab.entries(), {
    prices: { m: { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 10 } },
  });
  expect(total.usage).toEqual([
    {
      model: "m",
      provider: "anthropic",
      inputTokens: 100,
      outputTokens: 1,
      cachedInputTokens: 30,
      cacheWriteTokens: 50,
    },
  ]);
  expect(total.cost).toBeCloseTo((20 + 3 + 62.5 + 10) / 1_000_000, 12);
  const plainly = usageOf(await lab.entries(), { prices: { m: { input: 1, output: 10 } } });
  expect(plainly.total.cost).toBeCloseTo(110 / 1_000_000, 12);
});

describe("calls whose bill is unknown", () => {
  test("streams that a crash cut off are counted, and not estimated", async () => {
    let now = 1_000_000;
    const disk = new MemoryStorage({ now: () => now });
    const world = { ...systemWorld, warn: () => {} };
    // Two answers that do not end while their process lives.
    const model = fakeModel((_, number) =>
      number > 2 ? "an answer" : [...words("half", []), new Promise<never>(() => {})],
    );
    const flow = (storage: Storage) =>
      durable(
        "flow",
        async (ctx) => {
          // A stream of the program itself, which no provider bills.
          await ctx.stream("own", () => [1, 2, 3]);
          const result = latest.ai.streamText({ model: durableModel(ctx, model), prompt: "?" });
          return result.text;
        },
        { storage, world },
      );
    for (let life = 1; life <= 2; life++) {
      let dead = false;
      const storage = faultyStorage(disk, { world, plan: () => (dead ? "crash-before" : null) });
      void flow(storage).run(undefined, { id: "r" });
      const cut = async (): Promise<boolean> =>
        (await flow(disk).get("r").entries()).some(
          (entry) => entry.kind === "stream.chunks" && entry.key !== "own" && entry.attempt === life,
        );
      await vi.waitUntil(() => cut().catch(() => false), { timeout: 20_000 });
      dead = true;
      now += 3_600_000;
    }
    const before = (await flow(disk).get("r").entries()).length;
    await flow(disk).run(undefined, { id: "r" });
    const entries = await flow(disk).get("r").entries();
    const { total, paid, saved, steps } = usageOf(entries, { before });
    expect(model.calls).toHaveLength(3);
    expect(total).toMatchObject({ unknown: 2, inputTokens: 10 });
    expect(paid).toMatchObject({ unknown: 0, inputTokens: 10 });
    expect(saved).toMatchObject({ inputTokens: 0 });
    expect(steps.map(({ unknown, inputTokens }) => [unknown, inputTokens])).toEqual([[2, 10]]);
  });

  test("attempts that fail without a response are, and refusals are not", async () => {
    const lab = new Lab();
    const refusal = Object.assign(new Error("busy"), { statusCode: 429 });
    const errors = [new Error("socket hang up"), new TypeError("fetch failed", { cause: refusal })];
    const model = fakeModel(() => {
      const error = errors.shift();
      if (error !== undefined) throw error;
      return "done";
    });
    const retry = { attempts: 3, delay: 0 };
    const { value } = await lab.drive(async (ctx) => {
      await ctx
        .step("own", () => Promise.reject(new Error("no call of a model")), { retry: false })
        .catch(() => {});
      return (await latest.ai.generateText({ model: durableModel(ctx, model, { retry }), prompt: "?" })).text;
    });
    expect(value).toBe("done");
    const { total, steps } = usageOf(await lab.entries());
    expect(total).toMatchObject({ unknown: 1, inputTokens: 10 });
    expect(steps).toHaveLength(1);
  });

  test("a stream that its provider broke off is", async () => {
    const lab = new Lab();
    const model = fakeModel(() => [
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "half" },
      new Error("cut"),
    ]);
    await lab.drive(async (ctx) => {
      const result = latest.ai.streamText({
        model: durableModel(ctx, model),
        prompt: "?",
        onError: () => {},
      });
      for await (const _ of result.fullStream);
    });
    expect(usageOf(await lab.entries()).total).toMatchObject({ unknown: 1, inputTokens: 0 });
  });
});

test("a report that makes no sense fails no call", () => {
  const noted: unknown[] = [];
  const info = { meter: (usage: unknown) => void noted.push(usage) } as never;
  meter(info, {}, { usage: { inputTokens: Number.NaN, outputTokens: -1 } });
  meter(info, { modelId: "m", provider: "p" }, { usage: null });
  meter(info, { modelId: "m", provider: "p" }, {});
  expect(noted).toEqual([{ model: "unknown", provider: "", inputTokens: 0, outputTokens: 0 }]);
});

test("attempts before a retry of the run count, and so do their unknown bills", () => {
  const base = { at: 1, outside: false, after: 0, startedAt: 1, key: "generate 0a1b2c3d" };
  const used = { model: "m", inputTokens: 3, outputTokens: 1 };
  const failed = { kind: "step.failed", ...base, attempt: 1, error: new Error("429") } as const;
  const entries = [
    { ...failed, seq: 2, usage: [used], struck: 4 },
    { kind: "run.retried", at: 2, seq: 4, outside: true },
    { ...failed, seq: 5, struck: 7 },
    { kind: "run.retried", at: 3, seq: 7, outside: true },
    { kind: "step.completed", ...base, seq: 8, attempt: 1, value: "x", usage: [used] },
  ] as const satisfies readonly Entry[];
  expect(usageOf(entries).total).toMatchObject({ inputTokens: 6, outputTokens: 2, unknown: 1 });
});
