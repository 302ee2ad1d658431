/**
 * A scripted turn in the form of the provider protocol: a whole result, or a stream of parts. Proven in
 * test/kit-parts.test.ts.
 */

import type { ModelContent, ModelMessage, ModelResult, ModelStreamPart } from "./model-types.ts";

/** A turn with text, tool calls, or both. */
export interface SpokenTurn {
  readonly text?: string | undefined;
  readonly reasoning?: string | undefined;
  readonly calls?:
    | readonly { readonly tool: string; readonly input?: unknown; readonly id?: string | undefined }[]
    | undefined;
  /** `stop` or `tool-calls` by default. */
  readonly finish?: ModelResult["finishReason"]["unified"] | undefined;
}

export interface Asked {
  readonly modelId: string;
  /** Turn of the conversation, from 1. */
  readonly turn: number;
  readonly prompt: readonly ModelMessage[];
}

export function resultOf(spoken: SpokenTurn, { modelId, turn, prompt }: Asked): ModelResult {
  const { text = "", reasoning = "", calls = [] } = spoken;
  const content: ModelContent[] = [];
  if (reasoning !== "") content.push({ type: "reasoning", text: reasoning });
  if (text !== "") content.push({ type: "text", text });
  for (const [index, { tool, input = {}, id = `call-${turn}-${index + 1}` }] of calls.entries())
    content.push({ type: "tool-call", toolCallId: id, toolName: tool, input: JSON.stringify(input) });
  const [said, thought] = [content.map(textOf).flatMap(pieces).length, pieces(reasoning).length];
  const read = Math.ceil(JSON.stringify(prompt).length / 4);
  return {
    content,
    finishReason: { unified: spoken.finish ?? (calls.length === 0 ? "stop" : "tool-calls"), raw: undefined },
    usage: {
      inputTokens: { total: read, noCache: read, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: said, text: said - thought, reasoning: thought },
    },
    warnings: [],
    // Without these fields the SDK would generate new ones each time.
    response: { id: `scripted-${turn}`, modelId, timestamp: new Date(0) },
  };
}

function textOf(part: ModelContent): string {
  return part.type === "tool-call" ? part.input : part.text;
}

/** Words with the space before them: close to tokens, and joined they are the text again. */
function pieces(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}

export function streamOf(
  result: ModelResult,
  signal: AbortSignal | undefined,
): ReadableStream<ModelStreamPart> {
  const parts = partsOf(result);
  return new ReadableStream({
    pull(controller) {
      signal?.throwIfAborted();
      const { value, done } = parts.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

function* partsOf({ content, finishReason, usage, response }: ModelResult): Generator<ModelStreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", ...response };
  for (const [index, part] of content.entries()) {
    const id = `${response.id}-${index + 1}`;
    if (part.type === "tool-call") {
      yield { type: "tool-input-start", id: part.toolCallId, toolName: part.toolName };
      for (const delta of pieces(part.input)) yield { type: "tool-input-delta", id: part.toolCallId, delta };
      yield { type: "tool-input-end", id: part.toolCallId };
      yield part;
    } else {
      yield { type: `${part.type}-start`, id };
      for (const delta of pieces(part.text)) yield { type: `${part.type}-delta`, id, delta };
      yield { type: `${part.type}-end`, id };
    }
  }
  yield { type: "finish", finishReason, usage };
}
