/** Models of every kind but language, in the form of each version, that count their calls. */

export type Kind = "embedding" | "image" | "speech" | "transcription" | "reranking" | "translation";

const head = { timestamp: new Date(1_767_225_600_000), modelId: "media-1", headers: { "x-request": "1" } };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Calls a model got; a dead one refuses them. */
export class Media {
  calls = 0;
  alive = true;
  readonly #version: "v2" | "v3" | "v4";

  constructor(version: string) {
    this.#version = ({ "ai 5": "v2", "ai 6": "v3" } as const)[version] ?? "v4";
  }

  /** The types of the kinds have nothing in common, so tests take what they need. */
  model(kind: Kind): never {
    const models = {
      embedding: this.#embedding(),
      image: this.#image(),
      speech: this.#speech(),
      transcription: this.#transcription(),
      reranking: this.#reranking(),
      translation: this.#translation(),
    };
    const about = { specificationVersion: this.#version, provider: "media", modelId: "media-1" };
    return { ...about, ...models[kind] } as never;
  }

  #called(): void {
    if (!this.alive) throw new Error("the provider is gone");
    this.calls += 1;
  }

  #embedding(): object {
    return {
      maxEmbeddingsPerCall: 2,
      supportsParallelCalls: true,
      doEmbed: async ({ values }: { values: string[] }) => {
        this.#called();
        const embeddings = values.map((value) => [value.length, 0.5]);
        return {
          embeddings,
          usage: { tokens: values.length },
          warnings: [],
          response: { headers: head.headers },
        };
      },
    };
  }

  #image(): object {
    return {
      maxImagesPerCall: 1,
      doGenerate: async ({ prompt }: { prompt: string }) => {
        this.#called();
        const images = [bytes(`\u0089PNG ${prompt}`)];
        const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
        return { images, warnings: [], response: head, usage };
      },
    };
  }

  #speech(): object {
    return {
      doGenerate: async ({ text }: { text: string }) => {
        this.#called();
        return { audio: bytes(`ID3 ${text}`), warnings: [], response: head };
      },
      doStream: async ({ text }: { text: ReadableStream<{ text: string }> }) => {
        this.#called();
        const format = { type: "audio/pcm", rate: 24_000 };
        const said = (await all(text)).map((part) => JSON.stringify(part));
        return {
          stream: streamOf([
            { type: "stream-start", warnings: [] },
            ...said.map((part) => ({ type: "audio", audio: bytes(part), audioFormat: format })),
            { type: "error", error: "a hiccup" },
            { type: "audio", audio: bytes("end"), audioFormat: format },
            { type: "finish", usage: { inputCharacters: 5 } },
          ]),
          response: head,
        };
      },
    };
  }

  #transcription(): object {
    return {
      doGenerate: async ({ audio }: { audio: Uint8Array }) => {
        this.#called();
        const text = new TextDecoder().decode(audio);
        const segments = [{ text, startSecond: 0, endSecond: 1 }];
        return { text, segments, language: "en", durationInSeconds: 1, warnings: [], response: head };
      },
      doStream: async ({ audio }: { audio: ReadableStream<Uint8Array> }) => {
        this.#called();
        const heard = (await all(audio)).map((chunk) => new TextDecoder().decode(chunk));
        return {
          stream: streamOf([
            { type: "stream-start", warnings: [{ type: "other", message: "noisy" }] },
            ...heard.map((delta) => ({ type: "transcript-delta", id: "0", delta })),
            { type: "transcript-final", id: "0", text: heard.join(""), startSecond: 0, endSecond: 1 },
            {
              type: "finish",
              text: heard.join(""),
              segments: [{ text: heard.join(""), startSecond: 0, endSecond: 1 }],
              language: "en",
              durationInSeconds: 1,
              usage: { seconds: 1 },
            },
          ]),
          response: head,
        };
      },
    };
  }

  #reranking(): object {
    return {
      doRerank: async ({ documents }: { documents: { values: unknown[] } }) => {
        this.#called();
        const ranking = documents.values
          .map((_, index) => ({ index, relevanceScore: 1 / (index + 2) }))
          .toReversed();
        return { ranking, warnings: [], response: { ...head, id: "rank-1" } };
      },
    };
  }

  #translation(): object {
    return {
      doStream: async ({ audio }: { audio: ReadableStream<Uint8Array> }) => {
        this.#called();
        const heard = (await all(audio)).map((chunk) => new TextDecoder().decode(chunk)).join("");
        return {
          stream: streamOf([
            { type: "stream-start", warnings: [] },
            { type: "source-transcript-final", text: heard },
            { type: "output-text-delta", id: "0", delta: heard.toUpperCase() },
            { type: "audio", audio: bytes(heard.toUpperCase()) },
            { type: "finish", sourceText: heard, outputText: heard.toUpperCase() },
          ]),
          response: head,
        };
      },
    };
  }
}

async function all<T>(stream: ReadableStream<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of stream) values.push(value);
  return values;
}

export function streamOf<T>(parts: readonly T[]): ReadableStream<T> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}
