/**
 * Chooses the model of a demo from an environment that is passed in, because edge runtimes have no
 * `process.env`. Only the package of the chosen provider is loaded, so a run without a key loads none.
 */

import type { LanguageModel } from "ai";
import { scriptedModel, type Script } from "./scripted.ts";

/** A model that can be wrapped: no name of one. */
export type Model = Exclude<LanguageModel, string>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** An invalid choice; its message is one line that says what to do. */
export class ModelChoiceError extends Error {
  readonly code: "unknown-provider" | "missing-key" | "missing-model";

  constructor(code: ModelChoiceError["code"], message: string) {
    super(message);
    this.name = "ModelChoiceError";
    this.code = code;
  }
}

export interface Choice {
  readonly model: Model;
  /** The choice and its reason, in one line. */
  readonly line: string;
}

export interface ChooseOptions {
  /** The script of the offline model. */
  readonly script: Script;
  /** The speed of the offline model: 1 is lifelike, 0 is instant. */
  readonly pace?: number;
  /** A key is missed only when the provider is called, because recorded answers need none. */
  readonly keyLater?: boolean;
}

interface Asked {
  readonly apiKey: string;
  readonly model: string;
  /** The provider's URL, if it is not the usual one. */
  readonly at: { readonly baseURL?: string };
}

interface Provider {
  /** The variable with its key; `null` if it needs none. */
  readonly key: string | null;
  readonly baseURL: string;
  /** The default model; `null` if only the user can know it. */
  readonly model: string | null;
  load(asked: Asked): Promise<Model>;
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
  // A local server with OpenAI's chat protocol; it does not have to be Ollama.
  ollama: {
    key: null,
    baseURL: "OLLAMA_BASE_URL",
    model: null,
    load: async ({ model, at: { baseURL = "http://127.0.0.1:11434/v1" } }) =>
      (await import("@ai-sdk/openai")).createOpenAI({ apiKey: "none", baseURL }).chat(model),
  },
};

const offline = "offline";

/** Uses `LLM_PROVIDER` and `LLM_MODEL`, else the first key that is set, else the scripted model. */
export async function chooseModel(env: Environment, options: ChooseOptions): Promise<Choice> {
  const asked = env["LLM_PROVIDER"] || null;
  if (asked === offline) return scripted("LLM_PROVIDER says so", options);
  if (asked !== null) return load(asked, env, "LLM_PROVIDER says so", options);
  const found = Object.entries(providers).find(([, { key }]) => key !== null && env[key]);
  if (found !== undefined) return load(found[0], env, `${found[1].key} is set`, options);
  return scripted("no OPENAI_API_KEY, ANTHROPIC_API_KEY or other provider key found", options);
}

function scripted(why: string, { script, pace = 1 }: ChooseOptions): Choice {
  return { model: scriptedModel(script, { pace }), line: `scripted, offline (${why})` };
}

async function load(
  name: string,
  env: Environment,
  why: string,
  { keyLater = false }: ChooseOptions,
): Promise<Choice> {
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined) {
    throw new ModelChoiceError(
      "unknown-provider",
      `LLM_PROVIDER is "${name}". Use ${listed([...Object.keys(providers), offline])}.`,
    );
  }
  const apiKey = (provider.key === null ? "none" : env[provider.key]) || null;
  const missing = new ModelChoiceError(
    "missing-key",
    `LLM_PROVIDER is "${name}", but ${provider.key} is not set. Set it, or use LLM_PROVIDER=${offline}.`,
  );
  if (apiKey === null && !keyLater) throw missing;
  const model = env["LLM_MODEL"] || provider.model;
  if (model === null) {
    throw new ModelChoiceError("missing-model", `LLM_PROVIDER is "${name}". Name a model with LLM_MODEL.`);
  }
  const baseURL = env[provider.baseURL];
  const loaded = await provider.load({ apiKey: apiKey ?? "none", model, at: baseURL ? { baseURL } : {} });
  if (apiKey !== null) return { model: loaded, line: `${name} ${model} (${why})` };
  return {
    model: withoutKey(loaded, missing),
    line: `${name} ${model} (${why}; ${provider.key} is not set)`,
  };
}

/** The same model, which can be named and not called. */
function withoutKey(model: Model, missing: ModelChoiceError): Model {
  const refuse = (): Promise<never> => Promise.reject(missing);
  return Object.assign(Object.create(model) as Model, { doGenerate: refuse, doStream: refuse });
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
