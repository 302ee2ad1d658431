import { simulateReadableStream, gateway } from "ai";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";

/** Replace it by the model of any provider of the AI SDK, such as `openai("gpt-5-mini")` of `@ai-sdk/openai`. */
export const model: LanguageModelV4 =
  process.env["AI_GATEWAY_API_KEY"] === undefined ? offline() : gateway("openai/gpt-5-mini");

/** Says the same to everyone, slowly, and needs no key. */
function offline(): LanguageModelV4 {
  const words =
    "This answer needs no key: a small model in this project says it, one word after the other, slowly enough that you can kill the server in between. Start the server again, and the answer goes on to its end."
      .split(" ")
      .map((word) => `${word} `);
  const parts: LanguageModelV4StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...words.map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
    { type: "text-end", id: "1" },
    {
      type: "finish",
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: words.length, text: words.length, reasoning: 0 },
      },
    },
  ];
  return {
    specificationVersion: "v4",
    provider: "offline",
    modelId: "words",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The offline model only streams.")),
    doStream: async () => ({ stream: simulateReadableStream({ chunks: parts, chunkDelayInMs: 150 }) }),
  };
}
