/**
 * A language model of the AI SDK that answers from a script, at the pace of a real one. The answer is a
 * function of the prompt, so the same messages get the same answer after a crash or in another process.
 */

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { wait } from "./pace.ts";
import { turnOf } from "./prompt.ts";

/** One turn: text, tool calls, or both, after what the model thinks, and with what it has read. */
export interface Reply {
  readonly reasoning?: string;
  readonly text?: string;
  readonly sources?: readonly { readonly url: string; readonly title: string }[];
  readonly calls?: readonly { readonly tool: string; readonly input: unknown }[];
}

export type Script = (prompt: LanguageModelV4Prompt) => Reply;

const firstTokenMs = 500;
const perTokenMs = 30;

export function scriptedModel(
  script: Script,
  { pace = 1 }: { readonly pace?: number } = {},
): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: async ({ prompt, abortSignal }) => {
      const said = answer(script, prompt);
      await wait(pace * (firstTokenMs + perTokenMs * said.tokens), abortSignal);
      const { content, finishReason, usage, id } = said;
      return { content, finishReason, usage, warnings: [], response: { id, modelId: "scripted" } };
    },
    doStream: async (options) => ({ stream: stream(answer(script, options.prompt), pace, options) }),
  };
}

interface Answer {
  readonly id: string;
  readonly content: LanguageModelV4Content[];
  readonly finishReason: LanguageModelV4FinishReason;
  readonly usage: LanguageModelV4Usage;
  readonly tokens: number;
}

function answer(script: Script, prompt: LanguageModelV4Prompt): Answer {
  const { reasoning = "", text = "", sources = [], calls = [] } = script(prompt);
  const turn = turnOf(prompt);
  const content: LanguageModelV4Content[] = reasoning === "" ? [] : [{ type: "reasoning", text: reasoning }];
  if (text !== "") content.push({ type: "text", text });
  sources.forEach((source, index) => {
    content.push({ type: "source", sourceType: "url", id: `source-${turn}-${index + 1}`, ...source });
  });
  calls.forEach(({ tool, input }, index) => {
    const toolCallId = `call-${turn}-${index + 1}`;
    content.push({ type: "tool-call", toolCallId, toolName: tool, input: JSON.stringify(input) });
  });
  const tokens = content.reduce((sum, part) => sum + pieces(textOf(part)).length, 0);
  const thought = pieces(reasoning).length;
  const read = Math.ceil(JSON.stringify(prompt).length / 4);
  return {
    id: `scripted-${turn}`,
    content,
    finishReason: { unified: calls.length === 0 ? "stop" : "tool-calls", raw: undefined },
    usage: {
      inputTokens: { total: read, noCache: read, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: tokens, text: tokens - thought, reasoning: thought },
    },
    tokens,
  };
}

function textOf(part: LanguageModelV4Content): string {
  if (part.type === "text" || part.type === "reasoning") return part.text;
  return part.type === "tool-call" ? part.input : "";
}

/** Words with the space before them: close to tokens, and joined they are the text again. */
function pieces(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}

function stream(
  said: Answer,
  pace: number,
  { abortSignal }: Pick<LanguageModelV4CallOptions, "abortSignal">,
): ReadableStream<LanguageModelV4StreamPart> {
  const parts = partsOf(said);
  let first = true;
  return new ReadableStream({
    async pull(controller) {
      const { value: part, done } = parts.next();
      if (done === true) return controller.close();
      const paced = part.type.endsWith("-delta");
      if (paced) await wait(pace * (first ? firstTokenMs + perTokenMs : perTokenMs), abortSignal);
      if (paced) first = false;
      controller.enqueue(part);
    },
  });
}

function* partsOf({ id, content, finishReason, usage }: Answer): Generator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", id, modelId: "scripted" };
  for (const part of content) {
    if (part.type === "text" || part.type === "reasoning") {
      yield { type: `${part.type}-start`, id };
      for (const delta of pieces(part.text)) yield { type: `${part.type}-delta`, id, delta };
      yield { type: `${part.type}-end`, id };
    } else if (part.type === "source") {
      yield part;
    } else if (part.type === "tool-call") {
      yield { type: "tool-input-start", id: part.toolCallId, toolName: part.toolName };
      for (const delta of pieces(part.input)) yield { type: "tool-input-delta", id: part.toolCallId, delta };
      yield { type: "tool-input-end", id: part.toolCallId };
      yield part;
    }
  }
  yield { type: "finish", finishReason, usage };
}
