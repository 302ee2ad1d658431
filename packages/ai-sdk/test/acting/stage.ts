/**
 * The models of a program that acts on words. They say other words in every life, and count what is asked of them:
 *
 * Demands are the calls that the program makes; requests are those that reach the provider. Each response has an id, so
 * that a journal shows which requests it has recorded.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "@durable/core";
import type { Entry } from "@durable/core/types";
import type { EmbeddingModel, generateText, SpeechModel } from "ai";
import { durableModel } from "../../src/index.ts";
import { asked, streamOf, usage, words, type Call, type StreamPart } from "../support/fake-model.ts";

type LanguageModel = Exclude<Parameters<typeof generateText>[0]["model"], string>;

export interface Stage {
  readonly model: LanguageModel;
  readonly on: (ctx: Context) => LanguageModel;
  readonly speech: Exclude<SpeechModel, string>;
  readonly embedding: Exclude<EmbeddingModel, string>;
}

/** What happened in a life, in its order. */
export type Seen =
  | { readonly demand: string }
  | { readonly request: string; readonly id: string }
  | { readonly part: string };

export interface LifeOptions {
  /** From 1. Every life has words of its own. */
  readonly life: number;
  /** Between two parts of a stream. */
  readonly paceMs: number;
  /** How long every other call takes. */
  readonly callMs: number;
  readonly saw: (seen: Seen) => void;
}

export function stageOf(ctx: Context, options: LifeOptions): Stage {
  const world = new World(options);
  const on = (at: Context): LanguageModel =>
    demanding(durableModel(at, world.language()), options.saw) as LanguageModel;
  return {
    model: on(ctx),
    on,
    speech: demanding(durableModel(ctx, world.speech()), options.saw) as Stage["speech"],
    embedding: demanding(durableModel(ctx, world.embedding()), options.saw) as Stage["embedding"],
  };
}

/** The content of a call, whatever its kind. */
function contentOf(method: string, params: object): string {
  const { prompt, text, values } = params as { prompt?: unknown; text?: unknown; values?: unknown };
  return `${method} ${JSON.stringify(prompt ?? text ?? values)}`;
}

const methods: ReadonlySet<PropertyKey> = new Set(["doGenerate", "doStream", "doEmbed"]);

/** Notes every call that the program makes, whether it is answered by the journal or not. */
function demanding(model: object, saw: LifeOptions["saw"]): object {
  return new Proxy(model, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (!methods.has(property)) return value;
      return (params: object) => {
        saw({ demand: contentOf(String(property), params) });
        return (value as (params: object) => unknown)(params);
      };
    },
  });
}

class World {
  readonly #options: LifeOptions;
  #count = 0;

  constructor(options: LifeOptions) {
    this.#options = options;
  }

  language(): object {
    return {
      specificationVersion: "v4",
      provider: "fake",
      modelId: "fake-1",
      supportedUrls: {},
      doGenerate: async (call: Call) => {
        const id = await this.#asked("doGenerate", call);
        return {
          content: [{ type: "text", text: `answer ${id} to ${asked(call)}` }],
          finishReason: { unified: "stop", raw: undefined },
          usage,
          warnings: [],
          response: { id },
        };
      },
      doStream: async (call: Call) => {
        const id = this.#requested("doStream", call);
        const { paceMs } = this.#options;
        const [start, ...parts] = this.#said(call, id);
        const all = [start as StreamPart, { type: "response-metadata", id } as StreamPart, ...parts];
        return { stream: this.#heard(streamOf(all, { paceMs, signal: call.abortSignal })) };
      },
    };
  }

  speech(): object {
    return {
      ...about,
      doGenerate: async (call: { readonly text: string }) => {
        const id = await this.#asked("doGenerate", call);
        const response = { timestamp: new Date(0), modelId: "fake-1", headers: { id } };
        return { audio: new TextEncoder().encode(`ID3 ${id}`), warnings: [], response };
      },
    };
  }

  embedding(): object {
    return {
      ...about,
      maxEmbeddingsPerCall: 8,
      supportsParallelCalls: true,
      doEmbed: async (call: { readonly values: readonly string[] }) => {
        const id = await this.#asked("doEmbed", call);
        const embeddings = call.values.map(() => [1]);
        return { embeddings, usage: { tokens: 1 }, warnings: [], response: { headers: { id } } };
      },
    };
  }

  /** Other words, and another number of them, in every life. */
  #said(call: Call, id: string): StreamPart[] {
    const { life } = this.#options;
    const names = Array.from({ length: 3 + life }, (_, i) => `thing ${life}-${i}`);
    const question = asked(call);
    if (question.includes("List"))
      return words(JSON.stringify({ elements: names.map((name) => ({ name })) }).replaceAll(",", ", "));
    const text = names.map((name) => `Life ${life} tells of ${name} here.`).join(" ");
    const isFirst = !call.prompt.some(({ role }) => role === "tool");
    if (question.includes("Look") && isFirst) {
      const input = JSON.stringify({ what: names[0] });
      const toolCall = { type: "tool-call", toolCallId: `call-${id}`, toolName: "look", input } as StreamPart;
      const end = { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage };
      return words(text, [toolCall, end as StreamPart]);
    }
    return words(text);
  }

  #requested(method: string, call: object): string {
    const id = `resp-${this.#options.life}-${++this.#count}-end`;
    this.#options.saw({ request: contentOf(method, call), id });
    return id;
  }

  async #asked(method: string, call: object): Promise<string> {
    const id = this.#requested(method, call);
    await delay(this.#options.callMs);
    return id;
  }

  #heard(stream: ReadableStream<StreamPart>): ReadableStream<StreamPart> {
    const { saw } = this.#options;
    return stream.pipeThrough(
      new TransformStream<StreamPart, StreamPart>({
        transform: (part, to) => {
          saw({ part: part.type });
          to.enqueue(part);
        },
      }),
    );
  }
}

const about = { specificationVersion: "v4", provider: "fake", modelId: "fake-1" };

/** The ids of responses that are recorded with an outcome. */
export function recordedIds(entries: readonly Entry[]): Set<string> {
  const ends = entries.filter(({ kind }) => kind === "step.completed" || kind === "stream.completed");
  const ids = new Set<string>();
  for (const end of ends as Extract<Entry, { key: string; attempt: number }>[]) {
    const own = entries.filter(
      (entry) => "attempt" in entry && entry.key === end.key && entry.attempt === end.attempt,
    );
    for (const [id] of JSON.stringify(own).matchAll(/resp-\d+-\d+-end/g)) ids.add(id);
  }
  return ids;
}
