/**
 * A provider on loopback that speaks OpenAI's chat and responses protocols and embeddings, from a script. Every answer
 * has numbers of its own, so that an answer that was asked for twice shows.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Loopback, textOf } from "./loopback.ts";

export interface Said {
  readonly text: string;
  readonly calls?: readonly { readonly tool: string; readonly input: unknown; readonly id?: string }[];
}

/** What one request asks for: the first words of the user, and how often tools have answered. */
export interface Heard {
  readonly question: string;
  readonly results: number;
  /** How many requests there were, this one included. */
  readonly number: number;
}

/** How the next request goes wrong: refused, cut off after some events, or with an error among them. */
export type Trouble =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly cutAfter: number }
  | { readonly errorAfter: number };

interface Item {
  readonly role?: string;
  readonly type?: string;
  readonly content?: string | readonly { readonly text?: string }[];
}

type Body = {
  readonly stream?: boolean;
  readonly input?: readonly Item[];
  readonly messages?: readonly Item[];
};

export class Provider {
  readonly requests: { readonly path: string; readonly body: string }[] = [];
  readonly troubles: Trouble[] = [];
  /** Between two events of a stream. */
  paceMs = 0;
  /** Hears of every event that is sent. */
  onEvent: () => void = () => {};
  /** How many more events may be sent; the next one waits for its turn. */
  allowed = Infinity;
  readonly #script: (heard: Heard) => Said;
  readonly #server = new Loopback((request, response) => void this.#answer(request, response));

  private constructor(script: (heard: Heard) => Said) {
    this.#script = script;
  }

  static async open(script: (heard: Heard) => Said, port = 0): Promise<Provider> {
    const provider = new Provider(script);
    await provider.#server.listen(port);
    return provider;
  }

  get url(): string {
    return `${this.#server.origin}/v1`;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(request);
    const path = request.url ?? "";
    this.requests.push({ path, body: text });
    const number = this.requests.length;
    const trouble = this.troubles.shift();
    if (trouble !== undefined && "status" in trouble) {
      response.writeHead(trouble.status, { "content-type": "application/json", ...trouble.headers });
      return void response.end(JSON.stringify({ error: { message: "try later", type: "overloaded" } }));
    }
    const body = JSON.parse(text) as Body & { readonly input?: unknown };
    response.setHeader("set-cookie", "session=canary-cookie");
    response.setHeader("x-request-id", `req-${number}`);
    if (path.endsWith("/embeddings")) return json(response, embeddings(body.input as string[], number));
    const said = this.#script(heardIn(body, number));
    const [whole, events] = path.endsWith("/responses") ? responses(said, number) : chat(said, number);
    if (body.stream !== true) return json(response, whole);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [index, event] of events.entries()) {
      if (trouble !== undefined && "cutAfter" in trouble && index === trouble.cutAfter)
        return void response.destroy();
      if (trouble !== undefined && "errorAfter" in trouble && index === trouble.errorAfter)
        response.write(`data: ${JSON.stringify({ type: "error", error: { message: "overloaded" } })}\n\n`);
      while (this.allowed <= 0 && !response.destroyed) await delay(2);
      this.allowed -= 1;
      response.write(`data: ${JSON.stringify(event)}\n\n`);
      this.onEvent();
      if (this.paceMs > 0) await delay(this.paceMs);
    }
    response.end("data: [DONE]\n\n");
  }
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

function heardIn(body: Body, number: number): Heard {
  const items = body.messages ?? body.input ?? [];
  const user = items.find(({ role }) => role === "user")?.content ?? "";
  const question = typeof user === "string" ? user : user.map(({ text = "" }) => text).join("");
  const results = items.filter(({ role, type }) => role === "tool" || type === "function_call_output").length;
  return { question, results, number };
}

function embeddings(input: readonly string[], number: number): unknown {
  const data = input.map((text, index) => ({
    object: "embedding",
    index,
    embedding: [text.length, number, 0.5],
  }));
  return { object: "list", model: "scripted", data, usage: { prompt_tokens: 3, total_tokens: 3 } };
}

const pieces = (text: string): string[] => text.match(/\s*\S+/g) ?? [];
const created = 1_767_225_600;
const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function chat({ text, calls = [] }: Said, number: number): [unknown, unknown[]] {
  const tool_calls = calls.map(({ tool, input, id }, index) => ({
    index,
    id: id ?? `call_${number}_${index}`,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(input) },
  }));
  const head = { id: `chat-${number}`, created, model: "scripted" };
  const finish_reason = calls.length === 0 ? "stop" : "tool_calls";
  const message = { role: "assistant", content: text, ...(calls.length === 0 ? {} : { tool_calls }) };
  const event = (delta: unknown, finish: string | null = null): unknown => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  return [
    { ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage },
    [
      event({ role: "assistant", content: "" }),
      ...pieces(text).map((content) => event({ content })),
      ...tool_calls.map((call) => event({ tool_calls: [call] })),
      event({}, finish_reason),
      { ...head, object: "chat.completion.chunk", choices: [], usage },
    ],
  ];
}

function responses({ text, calls = [] }: Said, number: number): [unknown, unknown[]] {
  const message = {
    type: "message",
    id: `msg_${number}`,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
  const functions = calls.map(({ tool, input, id }, index) => ({
    type: "function_call",
    id: `fc_${number}_${index}`,
    call_id: id ?? `call_${number}_${index}`,
    name: tool,
    arguments: JSON.stringify(input),
    status: "completed",
  }));
  const response = {
    id: `resp_${number}`,
    object: "response",
    created_at: created,
    status: "completed",
    model: "scripted",
    output: [message, ...functions],
    incomplete_details: null,
    usage: {
      input_tokens: 11,
      output_tokens: 7,
      total_tokens: 18,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  };
  const items = functions.flatMap((item, index) => [
    {
      type: "response.output_item.added",
      output_index: index + 1,
      item: { ...item, arguments: "", status: "in_progress" },
    },
    {
      type: "response.function_call_arguments.delta",
      item_id: item.id,
      output_index: index + 1,
      delta: item.arguments,
    },
    { type: "response.output_item.done", output_index: index + 1, item },
  ]);
  return [
    response,
    [
      { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
      { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
      ...pieces(text).map((delta) => ({
        type: "response.output_text.delta",
        item_id: message.id,
        output_index: 0,
        content_index: 0,
        delta,
      })),
      { type: "response.output_item.done", output_index: 0, item: message },
      ...items,
      { type: "response.completed", response },
    ],
  ];
}
