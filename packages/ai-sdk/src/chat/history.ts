/**
 * The messages of a chat, from the journals of its runs. A run has the conversation that it answers as its input, and its
 * answer as a recorded stream.
 *
 * history.1. Answers come from the records, whatever a client says about them. A user may write what they like.
 * history.2. The conversation is that of the last run. Answers to other versions of a question are in `answers`.
 * history.3. A run is of this chat if its own input says so: a list that was changed names no run of another chat.
 *
 * Proven in test/chat-history.test.ts.
 */

import type { App, JournalOptions } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { assertOptions } from "@durable/core/storage";
import type { Part } from "../chunks.ts";
import { assembled, isTool } from "./assembled.ts";
import { isChatInput, type ChatInput, type Message } from "./asked.ts";
import { Refusal } from "./body.ts";
import { Recorded } from "./message.ts";
import { Turns, unlessMissing } from "./turns.ts";

/** A part of a message; the SDK's types of parts differ by version. */
export type ChatPart = Part;

/** A message of a chat: a `UIMessage` of the SDK. */
export interface ChatMessage {
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  readonly metadata?: unknown;
  readonly parts: readonly ChatPart[];
}

/** An answer of a chat: also one that was replaced by another, or that was stopped. */
export interface ChatAnswer {
  readonly message: ChatMessage;
  /** What it answers: an edited message has the id of the earlier one, and other parts. */
  readonly question: ChatMessage | null;
  /** The run that wrote it, or its last round. */
  readonly runId: string;
  readonly state: "open" | "complete" | "stopped" | "failed";
  /** True if it is in `messages`. */
  readonly isCurrent: boolean;
}

/** What `chatMessages` returns. */
export interface ChatHistory {
  /** The conversation, for `useChat({ messages })`. */
  readonly messages: readonly ChatMessage[];
  /** All answers, in the order in which they were asked for. */
  readonly answers: readonly ChatAnswer[];
}

/** Options of `chatMessages`. */
export interface ChatMessagesOptions {
  /** Only runs of this workflow: chats of several workflows may have the same ids. */
  readonly workflow?: string | undefined;
  /** As of `createChatHandler`. */
  readonly journal?: JournalOptions | undefined;
}

/**
 * The messages of a chat, with its tool calls, approvals, reasoning, files and sources: `await chatMessages(app, chatId)`.
 */
export function chatMessages(
  app: App,
  chatId: string,
  options: ChatMessagesOptions = {},
): Promise<ChatHistory> {
  assertOptions(options, "workflow journal", "chatMessages");
  const { journal = { app }, workflow } = options;
  return new History(app, new Turns(journal), workflow).all(chatId);
}

/** What one run knows of its chat. */
interface Round {
  readonly runId: string;
  /** The conversation before the answer. */
  readonly asked: readonly Message[];
  readonly answer: Message;
  readonly state: ChatAnswer["state"];
}

/** Journals that are read at once. */
const atOnce = 8;
/** The latest runs of a chat, as many as are searched for the place of a message. */
const mostRounds = 100;

const unknown = {
  code: "unknown-message",
  message: "No answer of this chat has this message. Load the chat again, or send all of its messages.",
};

export class History {
  readonly #app: App;
  readonly #turns: Turns;
  readonly #workflow: string | undefined;

  constructor(app: App, turns: Turns, workflow: string | undefined) {
    this.#app = app;
    this.#turns = turns;
    this.#workflow = workflow;
  }

  async all(chatId: string): Promise<ChatHistory> {
    const runs = await this.#turns.runs(chatId);
    const rounds: Round[] = [];
    for (let from = 0; from < runs.length; from += atOnce) {
      const some = runs.slice(from, from + atOnce).map((runId) => this.#round(runId, chatId));
      rounds.push(...(await Promise.all(some)).filter((round) => round !== null));
    }
    // The last round of an answer has all of it.
    const byId = new Map(rounds.map((round) => [round.answer.id, round]));
    const messages = conversation(rounds.at(-1)).map((message) =>
      message.role === "assistant" ? (byId.get(message.id)?.answer ?? message) : message,
    );
    const answers = [...byId.values()].filter(isShown).map(({ runId, asked, answer, state }) => ({
      message: answer as ChatMessage,
      question: (asked.findLast(({ role }) => role === "user") ?? null) as ChatMessage | null,
      runId,
      state,
      isCurrent: messages.includes(answer),
    }));
    return { messages: messages as ChatMessage[], answers };
  }

  /** The messages of a request that has its last message alone. */
  async before({ chatId, trigger, body, messages }: ChatInput): Promise<readonly Message[]> {
    const [message = {}] = messages as readonly Message[];
    const runs = (await this.#turns.runs(chatId)).slice(-mostRounds).toReversed();
    const isNew =
      trigger === "submit-message" && typeof body["messageId"] !== "string" && message.role === "user";
    let latest: readonly Message[] | null = null;
    for (const runId of runs) {
      const known = conversation(await this.#round(runId, chatId));
      if (known.length === 0) continue;
      latest ??= known;
      const at = known.findIndex(({ id }) => id === message.id);
      if (at !== -1) return [...known.slice(0, at).filter(isSaid), continued(message, known[at])];
      if (isNew) break;
    }
    if (message.role !== "user" || (latest !== null && !isNew)) throw new Refusal(409, unknown);
    return [...(latest ?? []).filter(isSaid), message];
  }

  /** The input of a run that a message began: what was before a message that is sent again is as it was at first. */
  async askedBy(runId: string, input: ChatInput): Promise<ChatInput> {
    const [first] = await this.entriesOf(runId, input.chatId);
    if (first?.kind !== "run.started" || !isChatInput(first.input)) return input;
    const { metadata } = (input.messages.at(-1) ?? {}) as Message;
    const last = {
      ...(first.input.messages.at(-1) as Message),
      ...(metadata === undefined ? {} : { metadata }),
    };
    return { ...input, messages: [...first.input.messages.slice(0, -1), last] };
  }

  /** What a run recorded, if it is there and of this chat. */
  async entriesOf(runId: string, chatId: string): Promise<readonly Entry[]> {
    const entries = await unlessMissing(this.#app.get(runId).entries(), []);
    const [first] = entries;
    if (first === undefined || !("workflow" in first)) return [];
    if (this.#workflow !== undefined && first.workflow !== this.#workflow) return [];
    const input = first.input as Partial<ChatInput> | null;
    return (input?.chatId ?? chatId) === chatId ? entries : [];
  }

  async #round(runId: string, chatId: string): Promise<Round | null> {
    const entries = await this.entriesOf(runId, chatId);
    const [first] = entries;
    if (first?.kind !== "run.started" || !isChatInput(first.input)) return null;
    const recorded = new Recorded(entries);
    const { continued: before, parts } = recorded;
    const answer = assembled(recorded.messageId ?? `msg-${runId}`, parts, before);
    const messages = first.input.messages as readonly Message[];
    const asked = before === null ? messages : messages.slice(0, messages.indexOf(before));
    return { runId, asked, answer, state: stateOf(entries, recorded) };
  }
}

function conversation(round: Round | undefined | null): readonly Message[] {
  if (round === undefined || round === null) return [];
  return isShown(round) ? [...round.asked, round.answer] : round.asked;
}

/** Nothing is there yet to show of an answer that has just begun. */
function isShown({ answer, state }: Round): boolean {
  return state !== "open" || isSaid(answer);
}

/** An answer that was stopped before its first word says nothing to a model. */
function isSaid({ role, parts }: Message): boolean {
  return role !== "assistant" || (Array.isArray(parts) && parts.length > 0);
}

function stateOf(entries: readonly Entry[], { progress, parts }: Recorded): ChatAnswer["state"] {
  if (progress !== "ended") return progress;
  return entries.at(-1)?.kind === "run.cancelled" || parts.at(-1)?.type === "abort" ? "stopped" : "failed";
}

/** A message that a client goes on with: as it was recorded, with the client's answers to its calls. */
function continued(message: Message, recorded: Message | undefined): Message {
  if (message.role !== "assistant" || recorded?.role !== "assistant") return message;
  const answers = new Map(
    partsOf(message)
      .filter(isTool)
      .map((part) => [part["toolCallId"], part]),
  );
  const parts = partsOf(recorded).map((part) =>
    isTool(part) && !String(part["state"]).startsWith("output-")
      ? (answers.get(part["toolCallId"]) ?? part)
      : part,
  );
  return { ...recorded, parts };
}

function partsOf({ parts }: Message): readonly Part[] {
  const all: readonly unknown[] = Array.isArray(parts) ? parts : [];
  return all.filter((part): part is Part => typeof Object(part).type === "string");
}
