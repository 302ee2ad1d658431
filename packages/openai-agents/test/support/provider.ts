/** A provider on loopback that speaks the chat protocol of OpenAI, whole and as events, and counts. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Loopback, textOf } from "../../../ai-sdk/test/support/loopback.ts";

/** What the model says: a text, or calls of tools. */
export interface Said {
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly tool: string; readonly input: object }[];
}

export interface Heard {
  /** Results of tools and handoffs in the conversation. */
  readonly results: readonly string[];
  readonly system: string;
  /** The number of the request, from 1. */
  readonly number: number;
}

export class Provider {
  requests = 0;
  /** Called before and after everything that is sent. */
  onEvent: () => void = () => {};
  /** Time between two pieces of an answer. */
  paceMs = 0;
  /** A status to answer a request with instead, by its number. */
  status: (number: number) => { readonly status: number; readonly headers?: Record<string, string> } | null =
    () => null;
  /** After how many pieces the connection is cut, by the number of the request. */
  cutAfter: (number: number) => number = () => Number.POSITIVE_INFINITY;
  readonly #server: Loopback;

  constructor(answer: (heard: Heard) => Said) {
    this.#server = new Loopback((request, response) => void this.#answer(request, response, answer));
  }

  async open(): Promise<this> {
    await this.#server.listen();
    return this;
  }

  get baseURL(): string {
    return `${this.#server.origin}/v1`;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    answer: (heard: Heard) => Said,
  ): Promise<void> {
    const number = ++this.requests;
    const asked = JSON.parse(await textOf(request)) as {
      readonly stream?: boolean;
      readonly messages: readonly { readonly role: string; readonly content: unknown }[];
    };
    this.onEvent();
    const refused = this.status(number);
    if (refused !== null) {
      response.writeHead(refused.status, { "content-type": "application/json", ...refused.headers });
      return void response.end('{"error":{"message":"no"}}');
    }
    const textOfAll = (role: string): string[] =>
      asked.messages.filter((one) => one.role === role).map(({ content }) => contentText(content));
    const said = answer({ results: textOfAll("tool"), system: textOfAll("system").join("\n"), number });
    const streams = asked.stream === true;
    response.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
    const pieces = streams ? eventsOf(said) : piecesOf(said);
    for (const [index, piece] of pieces.entries()) {
      if (this.paceMs > 0) await new Promise((resolve) => setTimeout(resolve, this.paceMs));
      if (index >= this.cutAfter(number)) return void response.destroy();
      response.write(piece);
      this.onEvent();
    }
    response.end();
  }
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as readonly { readonly text?: string }[]).map(({ text = "" }) => text).join("");
}

export const usage = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 40 },
};
const head = { id: "c", created: 1, model: "m" };

function callsOf({ calls }: Said) {
  return calls?.map(({ id, tool, input }, index) => ({
    index,
    id,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(input) },
  }));
}

/** The answer in four pieces. */
function piecesOf(said: Said): string[] {
  const message = { role: "assistant", content: said.text ?? null, tool_calls: callsOf(said) };
  const finish_reason = said.calls === undefined ? "stop" : "tool_calls";
  const choices = [{ index: 0, message, finish_reason }];
  const text = JSON.stringify({ ...head, object: "chat.completion", choices, usage });
  const size = Math.ceil(text.length / 4);
  return [0, 1, 2, 3].map((part) => text.slice(part * size, (part + 1) * size));
}

function eventsOf(said: Said): string[] {
  const chunk = (more: object): string =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], ...more })}\n\n`;
  const delta = (given: object, finish_reason: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: given, finish_reason }] });
  const words = (said.text ?? "").split(/(?<= )/).filter((word) => word !== "");
  return [
    delta({ role: "assistant", content: "" }),
    ...words.map((content) => delta({ content })),
    ...(callsOf(said) ?? []).map((call) => delta({ tool_calls: [call] })),
    delta({}, said.calls === undefined ? "stop" : "tool_calls"),
    chunk({ usage }),
    "data: [DONE]\n\n",
  ];
}
