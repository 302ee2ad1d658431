import type { Bench, Major, Program } from "../program.ts";

const specification = (major: Major): string => ({ 5: "v2", 6: "v3", 7: "v4" })[major];
const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);
const timestamp = new Date("2026-01-02T03:04:05Z");

/** A model with one method. */
function modelOf(bench: Bench, method: string, answer: (call: never) => object, more: object = {}): never {
  return bench.recorded({
    specificationVersion: specification(bench.major),
    provider: "scripted",
    modelId: "scripted-1",
    ...more,
    [method]: async (call: never) => {
      bench.asked();
      return answer(call);
    },
  }) as never;
}

const embedding = (bench: Bench): never =>
  modelOf(
    bench,
    "doEmbed",
    ({ values }: { values: string[] }) => ({
      embeddings: values.map((text) => [text.length, 0.5, 1 / 3]),
      usage: { tokens: values.length },
      warnings: [],
      providerMetadata: { scripted: { count: values.length } },
      response: { headers: { "x-one": "1" }, body: { count: values.length } },
    }),
    { maxEmbeddingsPerCall: 2, supportsParallelCalls: true },
  );

const image = (bench: Bench, images: readonly unknown[]): never =>
  modelOf(
    bench,
    "doGenerate",
    () => ({
      images,
      warnings: [],
      providerMetadata: { scripted: { images: images.map(() => ({ revised: "a cat" })) } },
      response: { timestamp, modelId: "scripted-1.1", headers: { "x-one": "1" } },
    }),
    { maxImagesPerCall: 2 },
  );

const named = (bench: Bench, ...names: readonly string[]): ((options: never) => Promise<never>) => {
  const sdk = bench.sdk as unknown as Record<string, unknown>;
  return sdk[names.find((name) => name in sdk) ?? ""] as (options: never) => Promise<never>;
};

async function caught<T>(work: () => Promise<T>): Promise<unknown> {
  try {
    return await work();
  } catch (thrown) {
    return { thrown };
  }
}

/** Files have their data in getters. */
const file = ({ base64, uint8Array, mediaType }: Record<string, unknown>) => ({
  base64,
  uint8Array,
  mediaType,
});
const bodies = [{ why: "bodies", in: ["next life"], without: ["body"] }] as const;

export const media: readonly Program[] = [
  {
    name: "an embedding",
    differs: bodies,
    run: async (bench) => {
      const {
        embedding: found,
        usage,
        value,
        response,
        providerMetadata,
      } = await bench.sdk.embed({
        model: embedding(bench),
        value: "one",
      });
      return { found, usage, value, response, providerMetadata };
    },
  },
  {
    name: "many embeddings, at once",
    differs: bodies,
    run: async (bench) => {
      const result = await bench.sdk.embedMany({
        model: embedding(bench),
        values: ["a", "bb", "ccc", "dddd", "eeeee"],
      });
      const { embeddings, usage, values, responses, providerMetadata } = result;
      return { embeddings, usage, values, responses, providerMetadata };
    },
  },
  {
    name: "images as bytes",
    run: async (bench) => {
      const generate = named(bench, "generateImage", "experimental_generateImage");
      const result: { images: never[]; warnings: unknown; responses: unknown; providerMetadata: unknown } =
        await generate({ model: image(bench, [png]), prompt: "A cat.", n: 1 } as never);
      const { images, warnings, responses, providerMetadata } = result;
      return { images: images.map(file), warnings, responses, providerMetadata };
    },
  },
  {
    name: "images as text, in several calls",
    run: async (bench) => {
      const generate = named(bench, "generateImage", "experimental_generateImage");
      const result: { images: never[] } = await generate({
        model: image(bench, ["iVBORw0KGgo="]),
        prompt: "A cat.",
        n: 3,
        maxImagesPerCall: 1,
      } as never);
      return result.images.map(file);
    },
  },
  {
    name: "no image",
    run: (bench) =>
      caught(() =>
        named(
          bench,
          "generateImage",
          "experimental_generateImage",
        )({
          model: image(bench, []),
          prompt: "A cat.",
          maxRetries: 0,
        } as never),
      ),
  },
  {
    name: "speech",
    run: async (bench) => {
      const speak = named(bench, "generateSpeech", "experimental_generateSpeech");
      const model = modelOf(bench, "doGenerate", () => ({
        audio: new Uint8Array([73, 68, 51, 4]),
        warnings: [],
        response: { timestamp, modelId: "scripted-1.1", headers: {}, body: undefined },
      }));
      const result: { audio: never; warnings: unknown; responses: unknown } = await speak({
        model,
        text: "Hello.",
      } as never);
      return { audio: file(result.audio), warnings: result.warnings, responses: result.responses };
    },
  },
  {
    name: "a transcription",
    run: async (bench) => {
      const transcribe = named(bench, "transcribe", "experimental_transcribe");
      const model = modelOf(bench, "doGenerate", () => ({
        text: "Hello there.",
        segments: [{ text: "Hello there.", startSecond: 0, endSecond: 1.5 }],
        language: "en",
        durationInSeconds: 1.5,
        warnings: [],
        response: { timestamp, modelId: "scripted-1.1", headers: {} },
      }));
      const result: Record<string, unknown> = await transcribe({
        model,
        audio: new Uint8Array([73, 68, 51]),
      } as never);
      const { text, segments, language, durationInSeconds, warnings, responses } = result;
      return { text, segments, language, durationInSeconds, warnings, responses };
    },
  },
  {
    name: "no transcription",
    run: (bench) => {
      const transcribe = named(bench, "transcribe", "experimental_transcribe");
      const model = modelOf(bench, "doGenerate", () => ({
        text: "",
        segments: [],
        language: undefined,
        durationInSeconds: undefined,
        warnings: [],
        response: { timestamp, modelId: "scripted-1.1" },
      }));
      return caught(() => transcribe({ model, audio: new Uint8Array([73, 68, 51]) } as never));
    },
  },
  {
    name: "a ranking",
    versions: [6, 7],
    run: async (bench) => {
      const model = modelOf(bench, "doRerank", () => ({
        ranking: [
          { index: 1, relevanceScore: 0.9 },
          { index: 0, relevanceScore: 0.1 },
        ],
        response: { id: "rank-1", timestamp, modelId: "scripted-1.1" },
      }));
      const { ranking, rerankedDocuments, originalDocuments, response } = await bench.sdk.rerank({
        model,
        documents: ["cold", "warm"],
        query: "warm",
      });
      return { ranking, rerankedDocuments, originalDocuments, response };
    },
  },
];
