/** Answers as providers send them, whole and as events, with caches and hidden reasoning, and what they bill. */

export interface Wire {
  readonly body: unknown;
  readonly events: readonly unknown[];
  /** Tokens that the provider bills, by price. */
  readonly bill: Readonly<Record<"input" | "cachedInput" | "cacheWrite" | "output", number>>;
}

/** What all of them answer. */
export const text = "Hello there.";

const chatUsage = {
  prompt_tokens: 2006,
  completion_tokens: 300,
  total_tokens: 2306,
  prompt_tokens_details: { cached_tokens: 1920 },
  completion_tokens_details: { reasoning_tokens: 256 },
};
const chat = { id: "c", created: 1, model: "m", object: "chat.completion" };

const responsesUsage = {
  input_tokens: 328,
  input_tokens_details: { cached_tokens: 128 },
  output_tokens: 840,
  output_tokens_details: { reasoning_tokens: 768 },
  total_tokens: 1168,
};
const item = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
};
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status: "completed",
  output: [item],
  usage: responsesUsage,
};

// Anthropic counts reads and writes of the cache beside `input_tokens`.
const anthropicUsage = {
  input_tokens: 21,
  cache_creation_input_tokens: 188,
  cache_read_input_tokens: 1045,
  output_tokens: 393,
};
const anthropic = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null };

// Google counts thoughts beside the candidates.
const googleUsage = {
  promptTokenCount: 2152,
  cachedContentTokenCount: 2048,
  candidatesTokenCount: 61,
  thoughtsTokenCount: 500,
  totalTokenCount: 2713,
};
const google = {
  candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: googleUsage,
  modelVersion: "m",
};

export const wires = {
  "OpenAI chat": {
    body: {
      ...chat,
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: chatUsage,
    },
    events: [
      {
        ...chat,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: { role: "assistant", content: text } }],
      },
      {
        ...chat,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      },
      { ...chat, object: "chat.completion.chunk", choices: [], usage: chatUsage },
    ],
    bill: { input: 2006 - 1920, cachedInput: 1920, cacheWrite: 0, output: 300 },
  },
  "OpenAI responses": {
    body: response,
    events: [
      { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      {
        type: "response.output_text.delta",
        item_id: "msg_1",
        output_index: 0,
        content_index: 0,
        delta: text,
      },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ],
    bill: { input: 200, cachedInput: 128, cacheWrite: 0, output: 840 },
  },
  Anthropic: {
    body: {
      ...anthropic,
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      usage: anthropicUsage,
    },
    events: [
      {
        type: "message_start",
        message: {
          ...anthropic,
          content: [],
          stop_reason: null,
          usage: { ...anthropicUsage, output_tokens: 1 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 393 },
      },
      { type: "message_stop" },
    ],
    bill: { input: 21, cachedInput: 1045, cacheWrite: 188, output: 393 },
  },
  Google: {
    body: google,
    events: [google],
    bill: { input: 2152 - 2048, cachedInput: 2048, cacheWrite: 0, output: 61 + 500 },
  },
} satisfies Readonly<Record<string, Wire>>;

export type Provider = keyof typeof wires;

/** The events, one text each. Anthropic names them. */
export function eventsOf(provider: Provider): string[] {
  const done = provider === "OpenAI chat" ? ["data: [DONE]\n\n"] : [];
  const events: readonly object[] = wires[provider].events;
  const named = events.map((event) => {
    const { type } = event as { readonly type?: string };
    const name = type === undefined ? "" : `event: ${type}\n`;
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  return [...named, ...done];
}

/** A response of the provider. */
export function answerOf(provider: Provider, streams: boolean): Response {
  if (!streams) return Response.json(wires[provider].body);
  return new Response(eventsOf(provider).join(""), { headers: { "content-type": "text/event-stream" } });
}
