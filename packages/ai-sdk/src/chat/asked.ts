/**
 * What a request asks for. A turn is named by it: by the conversation so far, and not by its length or last id.
 *
 * A1. Two requests with the same messages (role, id and parts), `trigger` and `messageId` ask for the same turn. A request
 *     with its last message alone is named by that message: its id is new in the chat, or the request names what it replaces.
 * A2. A turn may have several rounds, each a run of its own. Which requests begin one is decided by `turns.ts`.
 *
 * Proven in test/chat-rounds.test.ts and test/chat-identity.test.ts.
 */

import { fingerprint } from "@durable/core/storage";
import { Refusal } from "./body.ts";

/** What a client sends; it is the input of the workflow. */
export interface ChatInput {
  readonly chatId: string;
  /** The conversation, as UI messages of the SDK. */
  readonly messages: readonly unknown[];
  readonly trigger: string;
  /** Everything else that the transport of the client sends. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A message of a conversation, as far as it can be trusted. */
export interface Message {
  readonly id?: unknown;
  readonly role?: unknown;
  readonly parts?: unknown;
  readonly metadata?: unknown;
}

/**
 * - `send`: a message, or the next round of a message with tools or approvals. The same request is the same ask.
 * - `edit`: another version of a message. Users return to earlier versions, and want a new answer then.
 * - `again`: another answer. Two such requests are equal, whether a user asks twice or a connection broke.
 */
export type AskKind = "send" | "edit" | "again";

export interface Ask {
  readonly chatId: string;
  /** The fingerprint of what is asked. */
  readonly id: string;
  readonly kind: AskKind;
  /** Names this request, and is the same when the request is repeated; not every client sends one. */
  readonly key: string | null;
}

export function askOf({ input, isAlone }: Asked, key: string | null): Ask {
  const { chatId, trigger } = input;
  const messages = messagesOf(input);
  const named = messageIdOf(input);
  const said = messages.map(({ role, id, parts }) => [role, id, parts]);
  const id = fingerprint([said, trigger, named, ...(isAlone ? ["alone"] : [])]);
  return { chatId, id, kind: kindOf(input, messages, named), key };
}

function kindOf({ trigger }: ChatInput, messages: readonly Message[], named: string | null): AskKind {
  const message = named === null ? undefined : messages.find(({ id }) => id === named);
  if (trigger === "submit-message") return message?.role === "user" ? "edit" : "send";
  // The answer to replace is named, and every answer has an id of its own: the next request names another one.
  return named !== null && message === undefined ? "send" : "again";
}

/** The message of the assistant that the turn continues, after its client tools or approvals; or `null`. */
export function continuedMessage(input: unknown): Message | null {
  if (!isChatInput(input) || input.trigger !== "submit-message") return null;
  const messages = messagesOf(input);
  const named = messageIdOf(input);
  // Clients continue the message that they name, or else the last one.
  const message = messages.find(({ id }) => named !== null && id === named) ?? messages.at(-1);
  return message?.role === "assistant" && typeof message.id === "string" ? message : null;
}

/** What a request asks, as the client says it. */
export interface Asked {
  readonly input: ChatInput;
  /** The client sent its last message alone: what was before it is in the journals. */
  readonly isAlone: boolean;
}

export function askedOf(sent: unknown): Asked {
  const { id, trigger = "submit-message", ...others } = (sent ?? {}) as Record<string, unknown>;
  const isAlone = others["messages"] === undefined;
  const { messages = [others["message"]], message, ...rest } = others;
  const fits = typeof id === "string" && id.length > 0 && id.length <= 1_024 && typeof trigger === "string";
  const isMessage = !isAlone || (typeof message === "object" && message !== null);
  if (!fits || !isMessage || !Array.isArray(messages)) throw new Refusal(400);
  const body = isAlone || message === undefined ? rest : { ...rest, message };
  return { input: { chatId: id, messages: messages as unknown[], trigger, body }, isAlone };
}

export function isChatInput(input: unknown): input is ChatInput {
  const { messages, body } = (input ?? {}) as Partial<Record<keyof ChatInput, unknown>>;
  return Array.isArray(messages) && typeof body === "object" && body !== null;
}

function messageIdOf({ body }: ChatInput): string | null {
  const { messageId } = body;
  return typeof messageId === "string" ? messageId : null;
}

/** A message that is not an object has no role and no id. It is kept as parts, because it is part of the request. */
function messagesOf({ messages }: ChatInput): readonly Message[] {
  return messages.map((message) =>
    typeof message === "object" && message !== null ? (message as Message) : { parts: message },
  );
}
