import type { Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { durableModel, usageOf } from "../src/index.ts";
import { meter } from "../src/meter.ts";
import { fakeModel } from "./support/fake-model.ts";
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

test("a report that makes no sense fails no call", () => {
  const noted: unknown[] = [];
  const info = { meter: (usage: unknown) => void noted.push(usage) } as never;
  meter(info, {}, { usage: { inputTokens: Number.NaN, outputTokens: -1 } });
  meter(info, { modelId: "m", provider: "p" }, { usage: null });
  meter(info, { modelId: "m", provider: "p" }, {});
  expect(noted).toEqual([{ model: "unknown", provider: "", inputTokens: 0, outputTokens: 0 }]);
});
