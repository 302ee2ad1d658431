/** The SDK's own chat client, without a browser: what `useChat` is made of. */

import * as ai7 from "ai";
import type { ChatState, ChatStatus, ChatTransport, UIMessage } from "ai";
import * as ai5 from "ai-5";
import * as ai6 from "ai-6";

class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined;
  messages: UIMessage[] = [];

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };

  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
  };

  snapshot = <T>(value: T): T => structuredClone(value);
}

export interface ClientOptions {
  readonly id?: string;
  readonly messages?: UIMessage[];
  /** The SDK's own by default. */
  readonly transport?: ChatTransport<UIMessage>;
}

/** The versions differ in types alone, as far as tests go. */
function clientOf({ AbstractChat, DefaultChatTransport }: typeof ai7) {
  return class extends AbstractChat<UIMessage> {
    readonly connections: AbortController[];

    constructor(api: string, { id = "c1", messages = [], transport }: ClientOptions = {}) {
      const connections: AbortController[] = [];
      const state = new State();
      state.messages = messages;
      super({
        id,
        state,
        transport:
          transport ??
          new DefaultChatTransport({
            api,
            // Every connection can be cut, as a network does it.
            fetch: (input, init) => {
              const cut = new AbortController();
              connections.push(cut);
              const signal = init?.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal;
              return fetch(input, { ...init, signal });
            },
          }),
        onError: () => {},
      });
      this.connections = connections;
    }

    /** Cuts the connection that is open. */
    cut(): void {
      this.connections.at(-1)?.abort();
    }

    /** Text of the last message, if it is the answer. */
    get answer(): string {
      const { role, parts } = this.lastMessage ?? { role: "user", parts: [] };
      if (role !== "assistant") return "";
      return parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("|");
    }

    async until(seen: (text: string) => boolean): Promise<void> {
      while (!seen(this.answer)) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
}

export const ChatClient = clientOf(ai7);
export type ChatClient = InstanceType<typeof ChatClient>;
export const ChatClient5 = clientOf(ai5 as unknown as typeof ai7);
export const ChatClient6 = clientOf(ai6 as unknown as typeof ai7);
