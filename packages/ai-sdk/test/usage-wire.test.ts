/** Answers as providers send them, with caches and hidden reasoning, add up to the bill. */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";
import { describe, expect, test } from "vitest";
import { durableModel, usageOf } from "../src/index.ts";
import { Lab } from "./support/lab.ts";
import type { Model } from "./support/versions.ts";

interface Wire {
  readonly model: (fetch: typeof globalThis.fetch) => unknown;
  readonly body: unknown;
  readonly events: readonly unknown[];
  /** Tokens that the provider bills, by price. */
  readonly bill: Readonly<Record<"input" | "cachedInput" | "cacheWrite" | "output", number>>;
}

const apiKey = "key";
const text = "Hello there.";

const chatUsage = {
  prompt_tokens: 2006,
  completion_tokens: 300,
  total_tokens: 2306,
  prompt_tokens_details: { cached_tokens: 1920 },
  completion_tokens_details: { reasoning_tokens: 256 },
};
const chat = { id: "c", created: 1, model: "m", object: "chat.completion" };

const responsesUsage = {
  input_tokens: 328,
  input_tokens_details: { cached_tokens: 128 },
  output_tokens: 840,
  output_tokens_details: { reasoning_tokens: 768 },
  total_tokens: 1168,
};
const item = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
};
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status: "completed",
  output: [item],
  usage: responsesUsage,
};

// Anthropic counts reads and writes of the cache beside `input_tokens`.
const anthropicUsage = {
  input_tokens: 21,
  cache_creation_input_tokens: 188,
  cache_read_input_tokens: 1045,
  output_tokens: 393,
};
const anthropic = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null };

// Google counts thoughts beside the candidates.
const googleUsage = {
  promptTokenCount: 2152,
  cachedContentTokenCount: 2048,
  candidatesTokenCount: 61,
  thoughtsTokenCount: 500,
  totalTokenCount: 2713,
};
const google = {
  candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: googleUsage,
  modelVersion: "m",
};

const wires: Readonly<Record<string, Wire>> = {
  "OpenAI chat": {
    model: (fetch) => createOpenAI({ apiKey, fetch }).chat("m"),
    body: {
      ...chat,
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: chatUsage,
    },
    events: [
      {
        ...chat,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: { role: "assistant", content: text } }],
      },
      {
        ...chat,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      },
      { ...chat, object: "chat.completion.chunk", choices: [], usage: chatUsage },
    ],
    bill: { input: 2006 - 1920, cachedInput: 1920, cacheWrite: 0, output: 300 },
  },
  "OpenAI responses": {
    model: (fetch) => createOpenAI({ apiKey, fetch }).responses("m"),
    body: response,
    events: [
      { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      {
        type: "response.output_text.delta",
        item_id: "msg_1",
        output_index: 0,
        content_index: 0,
        delta: text,
      },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ],
    bill: { input: 200, cachedInput: 128, cacheWrite: 0, output: 840 },
  },
  Anthropic: {
    model: (fetch) => createAnthropic({ apiKey, fetch })("m"),
    body: {
      ...anthropic,
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      usage: anthropicUsage,
    },
    events: [
      {
        type: "message_start",
        message: {
          ...anthropic,
          content: [],
          stop_reason: null,
          usage: { ...anthropicUsage, output_tokens: 1 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 393 },
      },
      { type: "message_stop" },
    ],
    bill: { input: 21, cachedInput: 1045, cacheWrite: 188, output: 393 },
  },
  Google: {
    model: (fetch) => createGoogleGenerativeAI({ apiKey, fetch })("m"),
    body: google,
    events: [google],
    bill: { input: 2152 - 2048, cachedInput: 2048, cacheWrite: 0, output: 61 + 500 },
  },
};

const price = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };

describe.each(Object.entries(wires))("%s", (_, { model, body, events, bill }) => {
  const expected = Object.entries(bill).reduce(
    (sum, [kind, tokens]) => sum + (tokens * price[kind as keyof typeof price]) / 1_000_000,
    0,
  );
  const wired = (streams: boolean) =>
    model(async () =>
      streams
        ? new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
            headers: { "content-type": "text/event-stream" },
          })
        : Response.json(body),
    ) as Model;

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
