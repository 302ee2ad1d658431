/** The scripted model of @durable/testing, under the real AI SDK. */

import { scriptedModel, type ModelScript } from "@durable/testing";
import { APICallError, generateText, isStepCount, streamText, tool, type LanguageModel } from "ai";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

const add = tool({
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }: { a: number; b: number }) => a + b,
});

const script: ModelScript = [
  { reasoning: "A sum.", text: "Let me see.", calls: [{ tool: "add", input: { a: 2, b: 3 } }] },
  "It is  5.\n",
];
const sum = { tools: { add }, stopWhen: isStepCount(3), prompt: "2 and 3?", maxRetries: 0 };

test("it is a language model to the SDK's types", () => {
  expectTypeOf(scriptedModel([])).toExtend<LanguageModel>();
});

describe("generateText", () => {
  test("runs tools between the turns of a list", async () => {
    const model = scriptedModel(script);
    const result = await generateText({ model, ...sum });
    expect(result.text).toBe("It is  5.\n");
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(result.steps[0]).toMatchObject({
      reasoningText: "A sum.",
      toolCalls: [{ toolName: "add", toolCallId: "call-1-1", input: { a: 2, b: 3 } }],
      toolResults: [{ output: 5 }],
    });
    expect(result.response).toMatchObject({ id: "scripted-2", timestamp: new Date(0) });
    expect(result.usage.outputTokens).toBeGreaterThan(1);
    expect(model.calls).toMatchObject([
      { number: 1, turn: 1, stream: false, question: "2 and 3?", tools: ["add"], toolResults: [] },
      { number: 2, turn: 2, toolResults: [{ tool: "add", value: 5 }] },
    ]);
  });

  test("a function of the prompt answers any conversation", async () => {
    const model = scriptedModel((prompt, { question, attempt }) => `${prompt.length} ${question} ${attempt}`);
    const ask = async (prompt: string) => (await generateText({ model, prompt })).text;
    expect([await ask("a"), await ask("b"), await ask("a")]).toEqual(["1 a 1", "1 b 1", "1 a 2"]);
  });

  test("the same prompt gets the same turn, until a reset", async () => {
    const model = scriptedModel(["one", "two"]);
    const ask = async (prompt: string) => (await generateText({ model, prompt })).text;
    expect([await ask("a"), await ask("a"), await ask("b"), await ask("a")]).toEqual([
      "one",
      "one",
      "two",
      "one",
    ]);
    expect(model.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 3]);
    model.reset();
    expect(model.calls).toEqual([]);
    expect(await ask("b")).toBe("one");
  });
});

describe("streamText", () => {
  test("gives the same in pieces", async () => {
    const model = scriptedModel(script);
    const result = streamText({ model, ...sum });
    const types: string[] = [];
    let text = "";
    for await (const part of result.stream) {
      types.push(part.type);
      if (part.type === "text-delta") text += part.text;
    }
    expect(text).toBe("Let me see.It is  5.\n");
    expect(types).toEqual(
      expect.arrayContaining(["reasoning-delta", "tool-input-delta", "tool-call", "tool-result", "finish"]),
    );
    expect(types.filter((type) => type === "text-delta")).toHaveLength(6);
    expect(await result.text).toBe("It is  5.\n");
    expect(model.calls.every(({ stream }) => stream)).toBe(true);
  });
});

describe("failures", () => {
  test("are the SDK's own, and used up: its retry gets the next turn", async () => {
    const model = scriptedModel([{ fail: "overloaded", status: 429, retryAfter: 0.01 }, "well"]);
    expect((await generateText({ model, prompt: "?", maxRetries: 1 })).text).toBe("well");
    expect(model.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);

    const error: unknown = await generateText({
      model: scriptedModel([{ fail: "no such model", status: 404, retryAfter: 20 }]),
      prompt: "?",
    }).catch((thrown: unknown) => thrown);
    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({
      message: "no such model",
      statusCode: 404,
      isRetryable: false,
      responseHeaders: { "retry-after": "20" },
    });
  });

  test("an error in the list is thrown as it is", async () => {
    const broken = new TypeError("broken");
    const asked = generateText({ model: scriptedModel([broken]), prompt: "?", maxRetries: 0 });
    await expect(asked).rejects.toBe(broken);
  });

  test("a script that has run out says what it was asked", async () => {
    const model = scriptedModel(script.slice(0, 1));
    await expect(generateText({ model, ...sum, maxRetries: 2 })).rejects.toThrow(
      /has 1 turn, and all are used up\. The next call is turn 2 of a conversation of 3 message\(s\) that ends with tool: .*5.*Add a turn/,
    );
    expect(model.calls).toHaveLength(2);
  });

  test("a call that is not wanted any more is not made", async () => {
    const model = scriptedModel(["late"]);
    const asked = generateText({ model, prompt: "?", abortSignal: AbortSignal.abort() });
    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
    expect(model.calls).toEqual([]);
  });
});
