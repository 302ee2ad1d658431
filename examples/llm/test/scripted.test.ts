import { generateText, isStepCount, streamText, tool, type ToolSet } from "ai";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { questionOf, scriptedModel, toolResultsOf, turnOf, type Script } from "../src/index.ts";

const add: ToolSet = { add: tool({ inputSchema: z.object({ a: z.number(), b: z.number() }) }) };

/** Calls a tool for a sum, and then reports it. */
const script: Script = (prompt) => {
  const [sum] = toolResultsOf(prompt);
  if (sum !== undefined) return { text: `Turn ${turnOf(prompt)}: it is ${String(sum.value)}.` };
  return { text: `You asked: ${questionOf(prompt)}`, calls: [{ tool: "add", input: { a: 2, b: 3 } }] };
};

const model = scriptedModel(script, { pace: 0 });

describe("generate", () => {
  test("says what the script says, with calls and usage", async () => {
    const result = await generateText({ model, prompt: "2 and 3?", tools: add });
    expect(result.text).toBe("You asked: 2 and 3?");
    expect(result.toolCalls).toMatchObject([
      { toolName: "add", toolCallId: "call-1-1", input: { a: 2, b: 3 } },
    ]);
    expect(result.finishReason).toBe("tool-calls");
    expect(result.usage.inputTokens).toBeGreaterThan(5);
    expect(result.usage.outputTokens).toBeGreaterThan(5);
  });

  test("a later turn is a function of the messages alone", async () => {
    const first = await generateText({ model, prompt: "2 and 3?", tools: add });
    const messages = [
      { role: "user" as const, content: "2 and 3?" },
      ...first.responseMessages,
      {
        role: "tool" as const,
        content: [
          {
            type: "tool-result" as const,
            toolCallId: "call-1-1",
            toolName: "add",
            output: { type: "json" as const, value: 5 },
          },
        ],
      },
    ];
    const again = () => generateText({ model: scriptedModel(script, { pace: 0 }), messages, tools: add });
    const answers = await Promise.all([again(), again()]);
    expect(answers.map(({ text }) => text)).toEqual(["Turn 2: it is 5.", "Turn 2: it is 5."]);
    expect(answers[0].finishReason).toBe("stop");
  });

  test("the SDK itself can run the tools", async () => {
    const running = {
      add: tool({
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: ({ a, b }: { a: number; b: number }) => a + b,
      }),
    };
    const result = await generateText({
      model,
      prompt: "2 and 3?",
      tools: running,
      stopWhen: isStepCount(3),
    });
    expect(result.text).toBe("Turn 2: it is 5.");
  });
});

describe("stream", () => {
  test("gives the same in pieces", async () => {
    const result = streamText({ model, prompt: "2 and 3?", tools: add });
    const deltas: string[] = [];
    for await (const delta of result.textStream) deltas.push(delta);
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.join("")).toBe("You asked: 2 and 3?");
    expect(await result.toolCalls).toMatchObject([{ toolName: "add", input: { a: 2, b: 3 } }]);
    expect((await result.usage).outputTokens).toBeGreaterThan(5);
  });

  test("keeps every space of the text", async () => {
    const text = " two  spaces\n\nand a line \n";
    const said = streamText({ model: scriptedModel(() => ({ text }), { pace: 0 }), prompt: "?" });
    expect(await said.text).toBe(text);
  });
});

describe("pace", () => {
  const slow = scriptedModel(() => ({ text: "one two three four" }), { pace: 0.2 });

  test("takes time, over the whole text", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const startedAt = Date.now();
    const times: number[] = [];
    const { textStream } = streamText({ model: slow, prompt: "?" });
    const read = async (): Promise<void> => {
      for await (const _ of textStream) times.push(Date.now() - startedAt);
    };
    const reading = read();
    while (times.length < 4) await vi.advanceTimersByTimeAsync(1);
    await reading;
    expect(times).toHaveLength(4);
    expect(times[0]).toBeGreaterThan(90);
    expect((times[3] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(10);
  });

  test("a call that is not wanted any more ends at once", async () => {
    const abort = new AbortController();
    const generated = generateText({
      model: scriptedModel(() => ({ text: "too late" }), { pace: 1_000 }),
      prompt: "?",
      abortSignal: abort.signal,
    });
    setTimeout(() => abort.abort(), 20);
    await expect(generated).rejects.toMatchObject({ name: "AbortError" });
  });
});
