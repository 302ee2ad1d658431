/** The same question through the clients of the providers: whole, and as a stream. */

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import type { Provider } from "./wires.ts";

export interface Asking {
  readonly whole: () => Promise<unknown>;
  readonly events: () => Promise<AsyncIterable<unknown>>;
}

/** Clients with one attempt each, if `maxRetries` does not say otherwise, over this `fetch`. */
export function clientsOver(
  fetch: typeof globalThis.fetch,
  { origin = "http://127.0.0.1:9", maxRetries = 0 }: { origin?: string; maxRetries?: number } = {},
): Readonly<Record<Provider, Asking>> {
  const base = { apiKey: "key", baseURL: `${origin}/v1`, maxRetries, fetch };
  const openai = new OpenAI(base);
  const anthropic = new Anthropic(base);
  const google = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: origin, fetch } });
  const messages = [{ role: "user" as const, content: "Hi." }];
  const question = { model: "m", input: "Hi." };
  const more = { model: "m", max_tokens: 9, messages };
  const contents = { model: "m", contents: "Hi." };
  return {
    "OpenAI chat": {
      whole: () => openai.chat.completions.create({ model: "m", messages }),
      events: () => openai.chat.completions.create({ model: "m", messages, stream: true }),
    },
    "OpenAI responses": {
      whole: () => openai.responses.create(question),
      events: () => openai.responses.create({ ...question, stream: true }),
    },
    Anthropic: {
      whole: () => anthropic.messages.create(more),
      events: () => anthropic.messages.create({ ...more, stream: true }),
    },
    Google: {
      whole: () => google.models.generateContent(contents),
      events: () => google.models.generateContentStream(contents),
    },
  };
}
