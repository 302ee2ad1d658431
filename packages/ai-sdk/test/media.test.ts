/** Embeddings, images, speech, transcripts and rankings: plain, in a run, and in its next life. */

import type { Context } from "@durable/core";
import * as ai7 from "ai";
import type * as ai6 from "ai-6";
import { describe, expect, test, vi } from "vitest";
import { durableMiddleware, durableModel } from "../src/index.ts";
import { Media, streamOf, type Kind } from "./support/media-models.ts";
import { threeLives } from "./support/three-lives.ts";
import { versions, type Sdk } from "./support/versions.ts";

globalThis.AI_SDK_LOG_WARNINGS = false;

/** A program of the SDK, and how often it calls its model. */
interface Case {
  readonly needs: keyof Sdk;
  readonly kind: Kind;
  readonly calls: number;
  readonly run: (ai: Sdk, model: never) => Promise<unknown>;
  /** How the model is recorded; as a proxy by default. */
  readonly by?: (ai: Sdk, ctx: Context, model: never) => never;
}

const audio = (): ReadableStream<Uint8Array> =>
  streamOf(["Hello ", "there ", "world"].map((text) => new TextEncoder().encode(text)));
const pcm = { type: "audio/pcm", rate: 16_000 };
const image = (ai: Sdk) =>
  ai.generateImage ?? (ai as unknown as Record<string, never>)["experimental_generateImage"];

const cases: Readonly<Record<string, Case>> = {
  embed: {
    needs: "embed",
    kind: "embedding",
    calls: 1,
    run: (ai, model) => ai.embed({ model, value: "a sentence" }),
  },
  "embedMany, three batches at once": {
    needs: "embedMany",
    kind: "embedding",
    calls: 3,
    run: (ai, model) => ai.embedMany({ model, values: ["a", "bb", "ccc", "dddd", "eeeee"] }),
  },
  "generateImage, three": {
    needs: "embed",
    kind: "image",
    calls: 3,
    run: (ai, model) => image(ai)({ model, prompt: "a boat", n: 3 }),
  },
  generateSpeech: {
    needs: "experimental_generateSpeech",
    kind: "speech",
    calls: 1,
    run: (ai, model) => ai.experimental_generateSpeech({ model, text: "Hello." }),
  },
  transcribe: {
    needs: "experimental_transcribe",
    kind: "transcription",
    calls: 1,
    run: (ai, model) => ai.experimental_transcribe({ model, audio: new TextEncoder().encode("Hello.") }),
  },
  "transcribe, without a word": {
    needs: "experimental_transcribe",
    kind: "transcription",
    calls: 1,
    run: (ai, model) => ai.experimental_transcribe({ model, audio: new Uint8Array() }),
  },
  rerank: {
    needs: "rerank",
    kind: "reranking",
    calls: 1,
    run: (ai, model) => ai.rerank({ model, query: "sea", documents: ["salt", "sand", "ship"], topN: 2 }),
  },
  "streamTranscribe, part by part": {
    needs: "experimental_streamTranscribe",
    kind: "transcription",
    calls: 1,
    run: async (ai, model) => {
      const result = ai.experimental_streamTranscribe({ model, audio: audio(), inputAudioFormat: pcm });
      const parts: unknown[] = [];
      for await (const part of result.fullStream) parts.push(part);
      const { text, segments, responses, warnings, language } = result;
      return { parts, rest: await Promise.all([text, segments, responses, warnings, language]) };
    },
  },
  "streamTranscribe, two at once": {
    needs: "experimental_streamTranscribe",
    kind: "transcription",
    calls: 2,
    run: (ai, model) =>
      Promise.all(
        ["one", "two"].map((key) => {
          const providerOptions = { durable: { key } };
          return ai.experimental_streamTranscribe({
            model,
            audio: audio(),
            inputAudioFormat: pcm,
            providerOptions,
          }).text;
        }),
      ),
  },
  "streamTranscribe, without a word": {
    needs: "experimental_streamTranscribe",
    kind: "transcription",
    calls: 1,
    run: async (ai, model) =>
      ai.experimental_streamTranscribe({ model, audio: streamOf([]), inputAudioFormat: pcm }).text,
  },
  "streamSpeech, with an error on the way": {
    needs: "experimental_streamSpeech",
    kind: "speech",
    calls: 1,
    run: async (ai, model) => {
      const result = ai.experimental_streamSpeech({ model, text: ["Hello ", "world."], onError: () => {} });
      const parts: unknown[] = [];
      for await (const part of result.fullStream) parts.push(part);
      return { parts, rest: await Promise.all([result.usage, result.responses]) };
    },
  },
  streamTranslate: {
    needs: "experimental_streamTranslate",
    kind: "translation",
    calls: 1,
    run: async (ai, model) => {
      const result = ai.experimental_streamTranslate({
        model,
        audio: audio(),
        inputAudioFormat: pcm,
        targetLanguage: "de",
      });
      const parts: unknown[] = [];
      for await (const part of result.fullStream) parts.push(part);
      return parts;
    },
  },
  "embedMany, by middleware": {
    needs: "wrapEmbeddingModel",
    kind: "embedding",
    calls: 3,
    run: (ai, model) => ai.embedMany({ model, values: ["a", "bb", "ccc", "dddd", "eeeee"] }),
    by: (ai, ctx, model) => ai.wrapEmbeddingModel({ model, middleware: durableMiddleware(ctx) }) as never,
  },
  "generateImage, by middleware": {
    needs: "wrapImageModel",
    kind: "image",
    calls: 2,
    run: (ai, model) => image(ai)({ model, prompt: "a boat", n: 2 }),
    by: (ai, ctx, model) => ai.wrapImageModel({ model, middleware: durableMiddleware(ctx) }) as never,
  },
};

describe.each(versions.map((version) => [version.name, version] as const))("%s", (name, { ai }) => {
  test.each(Object.entries(cases).filter(([, { needs }]) => needs in ai))("%s", async (title, one) => {
    const media = new Media(name);
    const proxied = (_: Sdk, ctx: Context, model: never): never => durableModel(ctx, model);
    const by = one.by ?? proxied;
    const lives = await threeLives(
      (ctx) => one.run(ai, ctx === null ? media.model(one.kind) : by(ai, ctx, media.model(one.kind))),
      () => (media.alive = false),
    );
    if (!title.endsWith("without a word")) expect(lives.plain).toHaveProperty("value");
    expect(lives.run).toEqual(lives.plain);
    expect(lives.next).toEqual(lives.run);
    expect(media.calls).toBe(2 * one.calls);
  });
});

test("a replayed transcription does not read its audio, and lets go of it", async () => {
  const media = new Media("ai 7");
  let cancelled = 0;
  const program = async (ctx: Context | null): Promise<string> => {
    const source = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          if (!media.alive) throw new Error("read again");
          controller.enqueue(new TextEncoder().encode("Hello."));
          controller.close();
        },
        cancel: () => void (cancelled += 1),
      },
      { highWaterMark: 0 },
    );
    const model = media.model("transcription");
    return ai7.experimental_streamTranscribe({
      model: ctx === null ? model : (durableModel(ctx, model as object) as never),
      audio: source,
      inputAudioFormat: pcm,
    }).text;
  };
  const { next, run } = await threeLives(program, () => (media.alive = false));
  expect(next).toEqual(run);
  expect(cancelled).toBe(1);
});

test("a replayed transcription that failed lets go of its audio with the failure", async () => {
  const reasons: string[] = [];
  const failing = {
    specificationVersion: "v4",
    provider: "p",
    modelId: "m",
    doStream: () => Promise.reject(new Error("no permission")),
  };
  const program = async (ctx: Context | null): Promise<string> => {
    const source = new ReadableStream<Uint8Array>({ cancel: (reason) => void reasons.push(String(reason)) });
    const model = ctx === null ? failing : durableModel(ctx, failing);
    const { text } = ai7.experimental_streamTranscribe({
      model: model as never,
      audio: source,
      inputAudioFormat: pcm,
    });
    return Promise.resolve(text).catch(String);
  };
  const { next, run } = await threeLives(program, () => {});
  expect(next).toEqual(run);
  await vi.waitFor(() =>
    expect(reasons).toEqual(["Error: no permission", "Error: no permission", "Error: no permission"]),
  );
});

test("one middleware fits the types of every wrapper", () => {
  type Fits<T, U> = T extends U ? true : never;
  type Of<F> = F extends (asked: infer A) => unknown
    ? A extends { middleware: infer M }
      ? M
      : never
    : never;
  type Middleware = ReturnType<typeof durableMiddleware>;
  const fits: [
    Fits<Middleware, Of<typeof ai7.wrapLanguageModel>>,
    Fits<Middleware, Of<typeof ai7.wrapEmbeddingModel>>,
    Fits<Middleware, Of<typeof ai7.wrapImageModel>>,
    Fits<Middleware, Of<typeof ai6.wrapLanguageModel>>,
    Fits<Middleware, Of<typeof ai6.wrapEmbeddingModel>>,
    Fits<Middleware, Of<typeof ai6.wrapImageModel>>,
  ] = [true, true, true, true, true, true];
  expect(fits.every(Boolean)).toBe(true);
});
