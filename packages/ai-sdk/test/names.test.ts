import { Journal, MemoryStorage, type Context } from "@durable/core";
import { stepName } from "@durable/core/clients";
import {
  generateImage,
  generateText,
  rerank,
  type embedMany,
  type LanguageModel,
  type LanguageModelMiddleware,
} from "ai";
import type * as ai5 from "ai-5";
import type * as ai6 from "ai-6";
import { describe, expect, test } from "vitest";
import { durableMiddleware, durableModel, type ModelOptions } from "../src/index.ts";
import { asked, fakeModel } from "./support/fake-model.ts";
import { Lab } from "./support/lab.ts";
import { Provider } from "./support/provider.ts";
import { versions } from "./support/versions.ts";

const open = (storage: MemoryStorage): Promise<Journal> => Journal.open("j", { storage });
const ask = async (model: LanguageModel, prompt: string, durable?: { key: string }): Promise<string> =>
  (await generateText({ model, prompt, ...(durable === undefined ? {} : { providerOptions: { durable } }) }))
    .text;

describe("how calls find their records", () => {
  test("by content: in any order, side by side, and no prompt is kept", async () => {
    const storage = new MemoryStorage();
    const model = fakeModel((call, number) => `${asked(call)} ${number}`);
    const prompts = ["red", "green", "blue"];
    const run = async (order: readonly string[]): Promise<Record<string, string>> => {
      const durable = durableModel(await open(storage), model);
      return Object.fromEntries(
        await Promise.all(order.map(async (prompt) => [prompt, await ask(durable, prompt)] as const)),
      );
    };
    const first = await run(prompts);
    expect(await run(prompts.toReversed())).toEqual(first);
    expect(model.calls).toHaveLength(3);
  });

  test("equal calls are distinguished by their order, also over two models of one journal", async () => {
    const storage = new MemoryStorage();
    const model = fakeModel((_, number) => `answer ${number}`);
    const run = async (): Promise<string[]> => {
      const journal = await open(storage);
      const [one, two] = [durableModel(journal, model), durableModel(journal, model)];
      return Promise.all([ask(one, "?"), ask(two, "?"), ask(one, "?")]);
    };
    expect(await run()).toEqual(["answer 1", "answer 2", "answer 3"]);
    expect(await run()).toEqual(["answer 1", "answer 2", "answer 3"]);
    expect(model.calls).toHaveLength(3);
  });

  test("a setting, a tool or another model makes another call; headers and signals do not", async () => {
    const storage = new MemoryStorage();
    const model = fakeModel((_, number) => `answer ${number}`);
    const run = async (settings: object, modelId = "fake-1"): Promise<string> => {
      const own = durableModel(
        await open(storage),
        Object.assign(Object.create(model) as typeof model, { modelId }),
      );
      return (await generateText({ model: own, prompt: "?", ...settings })).text;
    };
    expect(await run({})).toBe("answer 1");
    expect(await run({ headers: { "x-a": "b" }, abortSignal: new AbortController().signal })).toBe(
      "answer 1",
    );
    expect(await run({ temperature: 1 })).toBe("answer 2");
    expect(await run({ instructions: "be short" })).toBe("answer 3");
    expect(await run({}, "fake-2")).toBe("answer 4");
    expect(await run({ temperature: 1 })).toBe("answer 2");
  });

  test("by a key of the caller's, which the provider does not see", async () => {
    const lab = new Lab();
    const model = fakeModel((_, number) => `answer ${number}`);
    const body = (prompt: string) => (ctx: Context) => ask(durableModel(ctx, model), prompt, { key: "plan" });
    expect((await lab.drive(body("as of now"))).value).toBe("answer 1");
    // Its words may change: the key is its name.
    expect((await lab.drive(body("as of later"))).value).toBe("answer 1");
    expect((await lab.entries()).some((entry) => "key" in entry && entry.key === "plan")).toBe(true);
    expect(model.calls[0]?.providerOptions).toEqual({});
  });

  test("by position, if asked: the words may change, the order may not", async () => {
    const lab = new Lab();
    const model = fakeModel((_, number) => `answer ${number}`);
    const body =
      (words: readonly string[]) =>
      async (ctx: Context): Promise<string[]> => {
        const durable = durableModel(ctx, model, { match: "position" });
        const answers: string[] = [];
        for (const word of words) answers.push(await ask(durable, word));
        return answers;
      };
    expect((await lab.drive(body(["a", "b"]))).value).toEqual(["answer 1", "answer 2"]);
    expect((await lab.drive(body(["c", "d"]))).value).toEqual(["answer 1", "answer 2"]);
    const keys = (await lab.entries()).flatMap((entry) => (entry.kind === "step.completed" ? entry.key : []));
    expect(keys).toEqual(["generate", "generate#2"]);
  });

  test("ids that no name may hold are kept readable, and apart", () => {
    expect(stepName("pay", "call_1")).toBe("pay call_1");
    const odd = ["a/b", "a[b", `a${"x".repeat(200)}`, "a#b", "a\u0000b"].map((id) => stepName("pay", id));
    for (const name of odd) expect(name).toMatch(/^pay a[^#/[\]\p{Cc}]{1,110}$/u);
    expect(new Set(odd).size).toBe(odd.length);
  });
});

describe.each(versions.map((version) => [version.name, version] as const))(
  "%s",
  (_, { ai, models, embedding }) => {
    test("as a middleware, in a workflow and over a journal", async () => {
      const server = await Provider.open(({ number }) => ({ text: `answer ${number}` }));
      try {
        const storage = new MemoryStorage();
        const wrapped = (on: Context | Journal, options?: ModelOptions) =>
          ai.wrapLanguageModel({
            model: models.chat(server.url),
            middleware: durableMiddleware(on, options),
          });
        const durable = { key: "plan" };
        const both = async (on: Context | Journal): Promise<string[]> => {
          const model = wrapped(on);
          const { text } = await ai.generateText({ model, prompt: "?", providerOptions: { durable } });
          return [text, await ai.streamText({ model, prompt: "?" }).text];
        };
        const lab = new Lab();
        expect((await lab.drive(both)).value).toEqual(["answer 1", "answer 2"]);
        expect((await lab.drive(both)).value).toEqual(["answer 1", "answer 2"]);
        expect(await both(await open(storage))).toEqual(["answer 3", "answer 4"]);
        expect(await both(await open(storage))).toEqual(["answer 3", "answer 4"]);
        expect(server.requests).toHaveLength(4);
        expect(server.requests[0]?.body).not.toContain("durable");
        expect(await lab.text()).toContain('"key":"plan"');
      } finally {
        await server.close();
      }
    });

    test("embeddings, in batches side by side", async () => {
      const server = await Provider.open(() => ({ text: "" }));
      try {
        const lab = new Lab();
        const body = async (ctx: Context): Promise<unknown> => {
          const model = durableModel(ctx, Object.assign(embedding(server.url), { maxEmbeddingsPerCall: 2 }));
          const values = ["a", "bb", "ccc", "dddd", "eeeee"];
          const { embeddings, usage } = await ai.embedMany({ model, values });
          return { embeddings, usage };
        };
        const [live, replay] = [await lab.drive(body), await lab.drive(body)];
        expect(live.value).toMatchObject({ usage: { tokens: 9 } });
        expect(replay.value).toEqual(live.value);
        expect(server.requests).toHaveLength(3);
      } finally {
        await server.close();
      }
    });
  },
);

test("pictures come back as the bytes they were, also equal calls side by side", async () => {
  const lab = new Lab();
  let drawn = 0;
  const model = {
    specificationVersion: "v4" as const,
    provider: "fake",
    modelId: "painter",
    maxImagesPerCall: 1,
    doGenerate: async () => ({
      // What providers on Node often give.
      images: [Buffer.from([137, 80, 78, 71, ++drawn])],
      warnings: [],
      response: { timestamp: new Date(), modelId: "painter", headers: { "set-cookie": "canary" } },
    }),
  };
  const body = async (ctx: Context): Promise<number[][]> => {
    const { images } = await generateImage({ model: durableModel(ctx, model), prompt: "a boat", n: 3 });
    return images.map(({ uint8Array }) => [...uint8Array]);
  };
  const [live, replay] = [await lab.drive(body), await lab.drive(body)];
  expect(live.value?.map((bytes) => bytes.at(-1))).toEqual([1, 2, 3]);
  expect(replay.value).toEqual(live.value);
  expect(drawn).toBe(3);
  expect(await lab.text()).not.toContain("canary");
});

test("ranks are recorded; what hands out access is not", async () => {
  const lab = new Lab();
  let calls = 0;
  const model = {
    specificationVersion: "v4" as const,
    provider: "fake",
    modelId: "ranker",
    doRerank: async () => (calls++, { ranking: [{ index: 1, relevanceScore: 0.9 }] }),
    doCreateToken: async () => ({ token: `canary ${++calls}` }),
  };
  const body = async (ctx: Context): Promise<unknown> => {
    const durable = durableModel(ctx, model);
    const { ranking } = await rerank({ model: durable, documents: ["a", "b"], query: "?" });
    return [ranking, await durable.doCreateToken()];
  };
  await lab.drive(body);
  expect(calls).toBe(2);
  await lab.drive(body);
  expect(calls).toBe(3);
  expect(await lab.text()).not.toContain("canary");
});

test("a model by its name alone is refused: the SDK would look it up past the journal", () => {
  expect(() =>
    durableModel({ runId: "r", continueAs: true } as unknown as Context, "openai/gpt-6-luna" as never),
  ).toThrow(/Pass a model/);
});

test("one middleware fits the types of all versions, and a model keeps its own", () => {
  // For the compiler; nothing is called.
  const fits = (on: Journal, embedder: Exclude<Parameters<typeof embedMany>[0]["model"], string>) => {
    const five: ai5.LanguageModelMiddleware = durableMiddleware(on);
    const six: ai6.LanguageModelMiddleware = durableMiddleware(on);
    const seven: LanguageModelMiddleware = durableMiddleware(on);
    const same: typeof embedder = durableModel(on, embedder);
    return [five, six, seven, same];
  };
  expect(fits).toBeTypeOf("function");
});
