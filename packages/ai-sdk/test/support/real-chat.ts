/** The real `Chat` of @ai-sdk/react, over HTTP, with a user who answers its tools and approvals. */

import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type ChatTransport,
  type UIMessage,
} from "ai";
import {
  durableChatTransport,
  type ChatTransportOptions,
  type DurableChatTransport,
} from "../../src/chat/client.ts";

/** Where the server is, and the connections to it. A server that is started again has another address. */
export class Wire {
  api: string;
  readonly requests: { readonly method: string; readonly url: string }[] = [];
  readonly #open: AbortController[] = [];
  readonly #sent = new Map<string, UIMessage[]>();

  constructor(api: string) {
    this.api = api;
  }

  readonly fetch: typeof fetch = (input, init) => {
    // All clients pass their address as text.
    const path = (input as string).replace(/^http:\/\/chat/, "");
    const method = init?.method ?? "GET";
    this.requests.push({ method, url: path });
    if (method === "POST" && path === "") this.#keep(init?.body as string);
    const cut = new AbortController();
    this.#open.push(cut);
    const signal = init?.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal;
    return fetch(`${this.api}${path}`, { ...init, signal }).catch((error: unknown) => {
      // A network that fails does not say AbortError.
      throw cut.signal.aborted && init?.signal?.aborted !== true ? new TypeError("fetch failed") : error;
    });
  };

  /** Cuts all connections, as a network does. */
  cut(): void {
    for (const one of this.#open.splice(0)) one.abort(new TypeError("network error"));
  }

  /** The messages of the last request of a chat. */
  sent(chatId: string): UIMessage[] {
    return structuredClone(this.#sent.get(chatId) ?? []);
  }

  #keep(body: string): void {
    const { id, messages } = JSON.parse(body) as { readonly id: string; readonly messages: UIMessage[] };
    this.#sent.set(id, messages);
  }

  get posts(): number {
    return this.requests.filter(({ method, url }) => method === "POST" && url === "").length;
  }

  get streams(): string[] {
    return this.requests.filter(({ method }) => method === "GET").map(({ url }) => url);
  }
}

export interface RealChatOptions {
  readonly id?: string;
  readonly messages?: UIMessage[];
  readonly transport?: ChatTransport<UIMessage>;
  readonly style?: string;
}

export const stock = (wire: Wire, style = "plain"): ChatTransport<UIMessage> =>
  new DefaultChatTransport({ api: "http://chat", fetch: wire.fetch, body: { style } });

export const reconnecting = (
  wire: Wire,
  style = "plain",
  options: Partial<ChatTransportOptions> = {},
): DurableChatTransport =>
  durableChatTransport({
    api: "http://chat",
    fetch: wire.fetch,
    body: { style },
    retry: { firstMs: 5, mostMs: 40, times: 10_000 },
    ...options,
  });

export class RealChat extends Chat<UIMessage> {
  /** Hears of every change, before anything else happens. */
  onChange: () => void = () => {};
  readonly #answered = new Set<string>();

  constructor(wire: Wire, { id = "c1", messages = [], transport, style }: RealChatOptions = {}) {
    super({
      id,
      messages,
      transport: transport ?? stock(wire, style),
      onError: () => {},
      sendAutomaticallyWhen: (options) =>
        lastAssistantMessageIsCompleteWithToolCalls(options) ||
        lastAssistantMessageIsCompleteWithApprovalResponses(options),
    });
    const changed = (): void => this.onChange();
    this["~registerMessagesCallback"](changed);
    this["~registerStatusCallback"](changed);
  }

  /** The next state that fits. */
  until(fits: (chat: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.onChange = () => {
        if (!fits(this)) return;
        this.onChange = () => {};
        resolve();
      };
      this.onChange();
    });
  }

  /** Answers what the message asks of the page and of its user, until it is complete, or something else is to do. */
  async answerAll(isOver: () => boolean = () => false): Promise<void> {
    this.#answered.clear();
    await this.until((chat) => {
      // A user answers what is on the screen, and not while the request that put it there is still ending.
      setTimeout(() => void chat.#answer(), 0);
      return chat.isComplete || isOver();
    });
  }

  get isComplete(): boolean {
    return this.status === "ready" && (this.texts.at(-1) ?? "").endsWith("end.");
  }

  /** Texts of the last message, if it is an answer. */
  get texts(): string[] {
    const { role, parts } = this.lastMessage ?? { role: "user", parts: [] };
    return role === "user" ? [] : parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  }

  async #answer(): Promise<void> {
    if (this.status !== "ready") return;
    for (const part of this.lastMessage?.parts ?? []) {
      if (!isToolUIPart(part)) continue;
      const key = `${part.toolCallId} ${part.state}`;
      if (this.#answered.has(key)) continue;
      this.#answered.add(key);
      if (part.state === "approval-requested")
        await this.addToolApprovalResponse({ id: part.approval.id, approved: true });
      if (part.type === "tool-locate" && part.state === "input-available")
        await this.addToolOutput({
          tool: "locate",
          toolCallId: part.toolCallId,
          output: "here",
        });
    }
  }
}

/** The message list in one line for each message: its role, and what it shows. */
export function shown(messages: readonly UIMessage[]): string[] {
  return messages.map(({ role, parts }) => {
    const seen = parts.map((part) => {
      if (part.type === "text") return `"${part.text.replaceAll(/w\d+-/g, "w-")}"`;
      return isToolUIPart(part) ? `${part.type}=${part.state}` : part.type;
    });
    return `${role}: ${seen.join(" ")}`;
  });
}
