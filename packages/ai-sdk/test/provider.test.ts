/** Models of a recorded provider, by every way to them: plain, in a run, and in its next life without the provider. */

import type { Context } from "@durable/core";
import * as openai7 from "@ai-sdk/openai";
import * as openai5 from "ai-5/openai";
import * as openai6 from "ai-6/openai";
import { afterEach, describe, expect, test } from "vitest";
import { durableProvider } from "../src/index.ts";
import { Media } from "./support/media-models.ts";
import { Provider } from "./support/provider.ts";
import { threeLives } from "./support/three-lives.ts";
import { versions, type Sdk } from "./support/versions.ts";

type OpenAI = ReturnType<typeof openai7.createOpenAI>;

const makers = {
  "ai 5": openai5.createOpenAI,
  "ai 6": openai6.createOpenAI,
  "ai 7": openai7.createOpenAI,
} as unknown as Record<string, typeof openai7.createOpenAI>;
const each = versions.map((version) => {
  const maker = makers[version.name] as typeof openai7.createOpenAI;
  return [version.name, version, (baseURL: string) => maker({ baseURL, apiKey: "k" })] as const;
});

const servers: Provider[] = [];
afterEach(async () => {
  globalThis.AI_SDK_DEFAULT_PROVIDER = undefined;
  for (const server of servers.splice(0)) await server.close();
});

interface Way {
  /** How the program gets its answer, from a provider that is recorded or not. */
  readonly ask: (ai: Sdk, openai: OpenAI) => Promise<unknown>;
}

const prompt = "Why?";
const text = async (answer: PromiseLike<{ readonly text: string }>): Promise<string> => (await answer).text;

const ways: Readonly<Record<string, Way>> = {
  "the provider as a function": {
    ask: (ai, openai) => text(ai.generateText({ model: openai("scripted"), prompt })),
  },
  chat: { ask: (ai, openai) => text(ai.generateText({ model: openai.chat("scripted"), prompt })) },
  responses: {
    ask: async (ai, openai) => ai.streamText({ model: openai.responses("scripted"), prompt }).text,
  },
  languageModel: {
    ask: (ai, openai) => text(ai.generateText({ model: openai.languageModel("scripted"), prompt })),
  },
  embeddings: {
    ask: async (ai, openai) =>
      (await ai.embedMany({ model: openai.textEmbeddingModel("scripted"), values: ["a", "b"] })).embeddings
        .length,
  },
  "a registry of the provider": {
    ask: (ai, openai) => {
      const registry = ai.createProviderRegistry({ acme: openai });
      return text(ai.generateText({ model: registry.languageModel("acme:scripted"), prompt }));
    },
  },
  "a custom provider with an alias": {
    ask: (ai, openai) => {
      const custom = ai.customProvider({
        languageModels: { fast: openai.chat("scripted") },
        fallbackProvider: openai,
      });
      const answers = ["fast", "scripted"].map((id) =>
        text(ai.generateText({ model: custom.languageModel(id as "fast"), prompt: `${prompt} ${id}` })),
      );
      return Promise.all(answers);
    },
  },
  "a name only, by the default provider": {
    ask: (ai, openai) => {
      globalThis.AI_SDK_DEFAULT_PROVIDER = openai as never;
      return text(ai.generateText({ model: "scripted", prompt }));
    },
  },
};

const anyContext = { runId: "r", continueAs: true } as unknown as Context;

describe.each(each)("%s", (_, { ai }, open) => {
  test.each(Object.entries(ways))("%s", async (__, { ask }) => {
    const server = await Provider.open(({ question }) => ({ text: `Because of ${question}` }));
    servers.push(server);
    const openai = open(server.url);
    const lives = await threeLives(
      (ctx) => ask(ai, ctx === null ? openai : durableProvider(ctx, openai)),
      async () => {
        await server.close();
        servers.length = 0;
      },
    );
    expect(lives.plain).toHaveProperty("value");
    expect(lives.run).toEqual(lives.plain);
    expect(lives.next).toEqual(lives.run);
    const calls = server.requests.length / 2;
    const kept = (await lives.lab.entries()).filter(({ kind }) => /^(step|stream)\.completed$/.test(kind));
    expect(kept).toHaveLength(calls);
  });

  test("around a registry, and beside what is not a model", async () => {
    const server = await Provider.open(() => ({ text: "yes" }));
    servers.push(server);
    const registry = ai.createProviderRegistry({ acme: open(server.url) });
    const body = async (ctx: Context | null): Promise<unknown> => {
      const own = ctx === null ? registry : durableProvider(ctx, registry);
      return text(ai.generateText({ model: own.languageModel("acme:scripted"), prompt }));
    };
    const lives = await threeLives(body, () => server.close());
    servers.length = 0;
    expect(lives.next).toEqual(lives.run);
    expect(lives.run).toEqual({ value: "yes" });
    const openai = open("http://127.0.0.1:9");
    const own = durableProvider(anyContext, openai);
    expect(own.tools).toBe(openai.tools);
    expect(() => own.embedding(undefined as never).modelId).not.toThrow();
    expect(() => durableProvider(anyContext, registry).languageModel("nobody:x" as "acme:x")).toThrow(
      "No such provider: nobody",
    );
  });
});

test("models of every kind are recorded", async () => {
  const media = new Media("ai 7");
  const [version] = versions.slice(-1);
  const ai = version?.ai as Sdk;
  const custom = ai.customProvider({
    embeddingModels: { e: media.model("embedding") },
    imageModels: { i: media.model("image") },
    speechModels: { s: media.model("speech") },
    transcriptionModels: { t: media.model("transcription") },
    rerankingModels: { r: media.model("reranking") },
  });
  const lives = await threeLives(
    async (ctx) => {
      const own = ctx === null ? custom : durableProvider(ctx, custom);
      const documents = ["a", "b"];
      return [
        (await ai.embed({ model: own.embeddingModel("e"), value: "a" })).embedding,
        (await ai.generateImage({ model: own.imageModel("i"), prompt: "a" })).image.base64,
        (await ai.generateSpeech({ model: own.speechModel("s"), text: "a" })).audio.base64,
        (await ai.transcribe({ model: own.transcriptionModel("t"), audio: new Uint8Array([65]) })).text,
        (await ai.rerank({ model: own.rerankingModel("r"), query: "a", documents })).ranking,
      ];
    },
    () => (media.alive = false),
  );
  expect(lives.plain).toHaveProperty("value");
  expect(lives.run).toEqual(lives.plain);
  expect(lives.next).toEqual(lives.run);
  expect(media.calls).toBe(10);
});
