/**
 * The part of a language model of the AI SDK (ai 7, specification v4) that a script needs, as structural
 * types, because this package depends on no version of the SDK. Proven in test/kit-types.test-d.ts.
 */

/** A part of a message; its fields depend on its type. */
export interface ModelPart {
  readonly type: string;
  readonly text?: string;
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly input?: unknown;
  readonly output?: unknown;
}

/** A message of a prompt. */
export interface ModelMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly ModelPart[];
}

export interface ModelCallOptions {
  readonly prompt: readonly ModelMessage[];
  readonly tools?: readonly { readonly type: string; readonly name: string }[] | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

export interface ModelFinish {
  unified: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";
  raw: string | undefined;
}

export interface ModelUsage {
  inputTokens: { total: number; noCache: number; cacheRead: number; cacheWrite: number };
  outputTokens: { total: number; text: number; reasoning: number };
}

export type ModelContent =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "tool-call"; toolCallId: string; toolName: string; input: string };

interface ModelResponse {
  id: string;
  modelId: string;
  timestamp: Date;
}

export interface ModelResult {
  content: ModelContent[];
  finishReason: ModelFinish;
  usage: ModelUsage;
  warnings: [];
  response: ModelResponse;
}

export type ModelStreamPart =
  | { type: "stream-start"; warnings: [] }
  | ({ type: "response-metadata" } & ModelResponse)
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string }
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string }
  | { type: "tool-input-start"; id: string; toolName: string }
  | { type: "tool-input-delta"; id: string; delta: string }
  | { type: "tool-input-end"; id: string }
  | { type: "tool-call"; toolCallId: string; toolName: string; input: string }
  | { type: "finish"; finishReason: ModelFinish; usage: ModelUsage };
