/** Answers as providers send them, with caches and hidden reasoning, add up to the bill. */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";
import { describe, expect, test } from "vitest";
import { durableModel, usageOf } from "../src/index.ts";
import { answerOf, text, wires, type Provider } from "../../core/test/clients/support/wires.ts";
import { Lab } from "./support/lab.ts";
import type { Model } from "./support/versions.ts";

const apiKey = "key";

const models: Readonly<Record<Provider, (fetch: typeof globalThis.fetch) => unknown>> = {
  "OpenAI chat": (fetch) => createOpenAI({ apiKey, fetch }).chat("m"),
  "OpenAI responses": (fetch) => createOpenAI({ apiKey, fetch }).responses("m"),
  Anthropic: (fetch) => createAnthropic({ apiKey, fetch })("m"),
  Google: (fetch) => createGoogleGenerativeAI({ apiKey, fetch })("m"),
};

const price = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };

describe.each(Object.entries(models))("%s", (name, model) => {
  const provider = name as Provider;
  const { bill } = wires[provider];
  const expected = Object.entries(bill).reduce(
    (sum, [kind, tokens]) => sum + (tokens * price[kind as keyof typeof price]) / 1_000_000,
    0,
  );
  const wired = (streams: boolean) => model(async () => answerOf(provider, streams)) as Model;

  test.each([false, true])("streams: %s", async (streams) => {
    const lab = new Lab();
    const { value, error } = await lab.drive(async (ctx) => {
      const asked = { model: durableModel(ctx, wired(streams)), prompt: "Hi." };
      return streams ? streamText(asked).text : (await generateText(asked)).text;
    });
    expect([value, error]).toEqual([text, undefined]);
    const { total } = usageOf(await lab.entries(), { prices: { m: price } });
    expect(total.unknown).toBe(0);
    expect(total.inputTokens).toBe(bill.input + bill.cachedInput + bill.cacheWrite);
    expect(total.outputTokens).toBe(bill.output);
    expect(total.cost).toBeCloseTo(expected, 12);
  });
});
