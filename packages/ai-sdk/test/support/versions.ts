/** The AI SDK in the versions that are supported, by the few functions that tests use of each. */

import * as openai7 from "@ai-sdk/openai";
import * as compatible7 from "@ai-sdk/openai-compatible";
import * as ai7 from "ai";
import * as ai5 from "ai-5";
import * as ai6 from "ai-6";
import * as openai5 from "ai-5/openai";
import * as compatible5 from "ai-5/openai-compatible";
import * as openai6 from "ai-6/openai";
import * as compatible6 from "ai-6/openai-compatible";

/** The versions differ in types and hardly in what they do: tests speak to them in the words of the latest. */
export type Sdk = typeof ai7;
export type Model = Parameters<typeof ai7.wrapLanguageModel>[0]["model"];
export type EmbeddingModel = Exclude<Parameters<typeof ai7.embedMany>[0]["model"], string>;

export interface Version {
  readonly name: string;
  readonly ai: Sdk;
  readonly models: Readonly<
    Record<"chat" | "responses" | "compatible", (url: string, apiKey?: string) => Model>
  >;
  readonly embedding: (url: string) => EmbeddingModel;
}

interface Providers {
  readonly createOpenAI: typeof openai7.createOpenAI;
  readonly createOpenAICompatible: typeof compatible7.createOpenAICompatible;
}

function version(name: string, ai: unknown, openai: unknown, compatible: unknown): Version {
  const { createOpenAI } = openai as Providers;
  const { createOpenAICompatible } = compatible as Providers;
  const settings = (baseURL: string, apiKey = "canary-key") => ({ baseURL, apiKey });
  return {
    name,
    ai: ai as Sdk,
    models: {
      chat: (url, key) => createOpenAI(settings(url, key)).chat("scripted"),
      responses: (url, key) => createOpenAI(settings(url, key)).responses("scripted"),
      compatible: (url, key) =>
        createOpenAICompatible({ ...settings(url, key), name: "local", includeUsage: true })("scripted"),
    },
    embedding: (url) => createOpenAI(settings(url)).textEmbeddingModel("scripted"),
  };
}

export const versions: readonly Version[] = [
  version("ai 5", ai5, openai5, compatible5),
  version("ai 6", ai6, openai6, compatible6),
  version("ai 7", ai7, openai7, compatible7),
];

/** The latest. */
export const latest = versions.at(-1) as Version;
