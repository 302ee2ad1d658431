import { Journal, MemoryStorage } from "@durable/core";
import { generateText, simulateReadableStream, streamText, wrapLanguageModel } from "ai";
import { scriptedModel } from "example-llm";
import { expect, test } from "vitest";
import { recorded } from "../src/middleware.ts";

type Model = ReturnType<typeof scriptedModel>;

const open = (storage: MemoryStorage): Promise<Journal> => Journal.open("test", { storage });
const durable = (journal: Journal, model: Model) =>
  wrapLanguageModel({ model, middleware: recorded(journal) });

test("calls side by side find their own records, whatever order they come in", async () => {
  const storage = new MemoryStorage();
  const model = scriptedModel((prompt) => ({ text: `to ${JSON.stringify(prompt.at(-1)?.content)}` }), {
    pace: 0,
  });
  const ask = async (questions: readonly string[]): Promise<Map<string, string>> => {
    const asked = durable(await open(storage), model);
    const texts = questions.map(
      async (prompt) => [prompt, (await generateText({ model: asked, prompt })).text] as const,
    );
    return new Map(await Promise.all(texts));
  };
  const first = await ask(["a", "b", "c"]);
  model.doGenerate = () => Promise.reject(new Error("was called"));
  const second = await ask(["c", "a", "b"]);
  expect(Object.fromEntries(second)).toEqual(Object.fromEntries(first));
});

test("the same question asked twice has two answers, then and now", async () => {
  const storage = new MemoryStorage();
  let count = 0;
  const model = scriptedModel(() => ({ text: `answer ${++count}` }), { pace: 0 });
  const ask = async (): Promise<string[]> => {
    const asked = durable(await open(storage), model);
    const texts = [1, 2].map(async () => (await generateText({ model: asked, prompt: "?" })).text);
    return Promise.all(texts);
  };
  expect(await ask()).toEqual(["answer 1", "answer 2"]);
  expect(await ask()).toEqual(["answer 1", "answer 2"]);
  expect(count).toBe(2);
});

test("a stream with an error in it is not kept: it is asked for again", async () => {
  const storage = new MemoryStorage();
  const model = scriptedModel(() => ({ text: "all of it" }), { pace: 0 });
  const doStream = model.doStream.bind(model);
  model.doStream = async () => ({
    stream: simulateReadableStream({
      chunks: [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "half" },
        { type: "error", error: new Error("overloaded") },
      ],
    }),
  });
  const ask = async (): Promise<string> => {
    const { textStream } = streamText({
      model: durable(await open(storage), model),
      prompt: "?",
      onError: () => {},
    });
    let text = "";
    for await (const delta of textStream) text += delta;
    return text;
  };
  expect(await ask().catch(() => "failed")).toMatch(/half|failed/);
  model.doStream = doStream;
  expect(await ask()).toBe("all of it");
  model.doStream = () => Promise.reject(new Error("was called"));
  expect(await ask()).toBe("all of it");
});
