/**
 * Which model a demo talks to, decided from an environment that is passed in: edge runtimes have no
 * `process.env`. A provider's package is loaded only when it was chosen, so a run without a key loads none.
 */

import type { LanguageModel } from "ai";
import { scriptedModel, type Script } from "./scripted.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A choice that cannot be honoured; its message is one line that says what to do. */
export class ModelChoiceError extends Error {
  readonly code: "unknown-provider" | "missing-key" | "missing-model";

  constructor(code: ModelChoiceError["code"], message: string) {
    super(message);
    this.name = "ModelChoiceError";
    this.code = code;
  }
}

export interface Choice {
  readonly model: LanguageModel;
  /** What was chosen and why, in one line for people. */
  readonly line: string;
}

export interface ChooseOptions {
  /** What the offline model says. */
  readonly script: Script;
  /** How fast it says it: 1 is lifelike, 0 at once. */
  readonly pace?: number;
}

interface Asked {
  readonly apiKey: string;
  readonly model: string;
  /** Where the provider's service is, if not at its usual place. */
  readonly at: { readonly baseURL?: string };
}

interface Provider {
  /** The variable that holds its key; `null` where none is needed. */
  readonly key: string | null;
  readonly baseURL: string;
  /** The model if none is named; `null` where only the user can know. */
  readonly model: string | null;
  load(asked: Asked): Promise<LanguageModel>;
}

/** In the order in which keys are looked for. */
const providers: Readonly<Record<string, Provider>> = {
  openai: {
    key: "OPENAI_API_KEY",
    baseURL: "OPENAI_BASE_URL",
    model: "gpt-6-luna",
    load: async ({ apiKey, model, at }) =>
      (await import("@ai-sdk/openai")).createOpenAI({ apiKey, ...at })(model),
  },
  anthropic: {
    key: "ANTHROPIC_API_KEY",
    baseURL: "ANTHROPIC_BASE_URL",
    model: "claude-sonnet-5-5",
    load: async ({ apiKey, model, at }) =>
      (await import("@ai-sdk/anthropic")).createAnthropic({ apiKey, ...at })(model),
  },
  google: {
    key: "GOOGLE_GENERATIVE_AI_API_KEY",
    baseURL: "GOOGLE_GENERATIVE_AI_BASE_URL",
    model: "gemini-flash-latest",
    load: async ({ apiKey, model, at }) =>
      (await import("@ai-sdk/google")).createGoogleGenerativeAI({ apiKey, ...at })(model),
  },
  gateway: {
    key: "AI_GATEWAY_API_KEY",
    baseURL: "AI_GATEWAY_BASE_URL",
    model: "openai/gpt-6-luna",
    load: async ({ apiKey, model, at }) => (await import("ai")).createGateway({ apiKey, ...at })(model),
  },
  // A local server that speaks OpenAI's chat protocol: any other than Ollama will do, too.
  ollama: {
    key: null,
    baseURL: "OLLAMA_BASE_URL",
    model: null,
    load: async ({ model, at: { baseURL = "http://127.0.0.1:11434/v1" } }) =>
      (await import("@ai-sdk/openai")).createOpenAI({ apiKey: "none", baseURL }).chat(model),
  },
};

const offline = "offline";

/** `LLM_PROVIDER` and `LLM_MODEL` decide; else the first key that is set; else the scripted model. */
export async function chooseModel(env: Environment, options: ChooseOptions): Promise<Choice> {
  const asked = env["LLM_PROVIDER"] || null;
  if (asked === offline) return scripted("LLM_PROVIDER says so", options);
  if (asked !== null) return load(asked, env, "LLM_PROVIDER says so");
  const found = Object.entries(providers).find(([, { key }]) => key !== null && env[key]);
  if (found !== undefined) return load(found[0], env, `${found[1].key} is set`);
  return scripted("no OPENAI_API_KEY, ANTHROPIC_API_KEY or other provider key found", options);
}

function scripted(why: string, { script, pace = 1 }: ChooseOptions): Choice {
  return { model: scriptedModel(script, { pace }), line: `scripted, offline (${why})` };
}

async function load(name: string, env: Environment, why: string): Promise<Choice> {
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined) {
    throw new ModelChoiceError(
      "unknown-provider",
      `LLM_PROVIDER is "${name}". Use ${listed([...Object.keys(providers), offline])}.`,
    );
  }
  const apiKey = provider.key === null ? "" : env[provider.key];
  if (apiKey === undefined || (provider.key !== null && apiKey === "")) {
    throw new ModelChoiceError(
      "missing-key",
      `LLM_PROVIDER is "${name}", and ${provider.key} is not set. Set it, or use LLM_PROVIDER=${offline}.`,
    );
  }
  const model = env["LLM_MODEL"] || provider.model;
  if (model === null) {
    throw new ModelChoiceError("missing-model", `LLM_PROVIDER is "${name}". Name a model with LLM_MODEL.`);
  }
  const baseURL = env[provider.baseURL];
  const loaded = await provider.load({ apiKey, model, at: baseURL ? { baseURL } : {} });
  return { model: loaded, line: `${name} ${model} (${why})` };
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
