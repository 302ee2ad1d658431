/**
 * The chats of a user, and the end of one.
 *
 * chats.1. A chat belongs to the scope that `authorize` gave for its first message. Its id is in the list of that scope, before its
 *     first run starts; the list is a journal, encrypted like others.
 * chats.2. The title is in the journal of the chat, so that it goes when the chat is deleted. A chat without a journal is not
 *     shown.
 * chats.3. The list of runs goes last: a deletion that was interrupted is completed by the next one.
 *
 * Proven in test/chat-list.test.ts.
 */

import { DurableError, Journal, type App, type JournalOptions } from "@durable/core";
import { assertOptions, fingerprint } from "@durable/core/storage";
import type { ChatInput, Message } from "./asked.ts";
import { titleKey, Turns, unlessMissing, type ChatFacts } from "./turns.ts";

/** Options of `listChats`. */
export interface ListChatsOptions {
  /** The scope that `authorize` returns for the user; without it, chats of requests that were allowed with `true`. */
  readonly scope?: string | undefined;
  /** How many chats a page has at most; 20 by default, 100 at most. */
  readonly limit?: number | undefined;
  /** From the page before. */
  readonly cursor?: string | undefined;
  /** As of `createChatHandler`. */
  readonly journal?: JournalOptions | undefined;
}

/** One chat of a list. */
export interface ChatRow extends ChatFacts {
  readonly chatId: string;
}

/** A page of chats, the one that was begun last first. */
export interface ChatPage {
  readonly chats: readonly ChatRow[];
  /** For the next page; `null` at the end. */
  readonly cursor: string | null;
}

/** The chats that a user has begun with a workflow: `await listChats(app, "answer", { scope: "anna" })`. */
export async function listChats(
  app: App,
  workflow: string,
  options: ListChatsOptions = {},
): Promise<ChatPage> {
  assertOptions(options, "scope limit cursor journal", "listChats");
  const { limit = 1, cursor } = options;
  if (cursor !== undefined && !isCursor(cursor))
    throw new DurableError(
      "invalid-options",
      `listChats got the cursor ${JSON.stringify(cursor)}. Pass the cursor of the page before, or leave it out for the first page.`,
    );
  if (!Number.isInteger(limit) || limit < 1)
    throw new DurableError(
      "invalid-options",
      `listChats got the limit ${limit}. Pass a number from 1 to 100.`,
    );
  return pageOf(options.journal ?? { app }, workflow, options, () => Promise.resolve(true));
}

/** The number of chats that are still to come. */
export function isCursor(cursor: unknown): boolean {
  return typeof cursor === "string" && /^\d{1,9}$/.test(cursor);
}

/** Options of `deleteChat`. */
export interface DeleteChatOptions {
  /** As of `createChatHandler`. */
  readonly journal?: JournalOptions | undefined;
}

/** Deletes the runs of a chat with their children, and what is kept of the chat. Answers that are being written end. */
export async function deleteChat(app: App, chatId: string, options: DeleteChatOptions = {}): Promise<void> {
  assertOptions(options, "journal", "deleteChat");
  const turns = new Turns(options.journal ?? { app });
  for (const runId of await turns.runs(chatId)) await unlessMissing(app.delete(runId), undefined);
  await turns.delete(chatId);
}

/** The list of a scope. */
function listOf(options: JournalOptions, workflow: string, scope: string | undefined): Promise<Journal> {
  return Journal.open(`chats-${fingerprint([workflow, scope ?? null])}`, options);
}

/** Lists a chat that begins. */
export async function beginChat(
  options: JournalOptions,
  { chatId, messages }: ChatInput,
  { workflow, scope, journal }: { workflow: string; scope: string | undefined; journal: Journal },
): Promise<void> {
  const list = await listOf(options, workflow, scope);
  await Promise.all([
    list.record(fingerprint(chatId), () => chatId),
    journal.record(titleKey, () => titleOf(messages)),
  ]);
}

/** `isShown` decides about each chat. */
export async function pageOf(
  options: JournalOptions,
  workflow: string,
  { scope, limit = 20, cursor }: Omit<ListChatsOptions, "journal">,
  isShown: (chatId: string) => Promise<boolean>,
): Promise<ChatPage> {
  const turns = new Turns(options);
  const known = (await listOf(options, workflow, scope))
    .entries()
    .flatMap((entry) => (entry.kind === "step.completed" ? [entry.value as string] : []));
  const chats: ChatRow[] = [];
  let next = Math.min(cursor === undefined ? known.length : Number(cursor), known.length);
  while (next > 0 && chats.length < Math.min(limit, 100)) {
    const chatId = known[--next] as string;
    const facts = (await isShown(chatId)) ? await turns.facts(chatId) : null;
    if (facts !== null) chats.push({ chatId, ...facts });
  }
  return { chats, cursor: next > 0 ? String(next) : null };
}

const titleLength = 60;

/** The first words of the first message of the user. */
function titleOf(messages: readonly unknown[]): string {
  const first = messages.find((message): message is Message => Object(message).role === "user");
  const parts: readonly unknown[] = Array.isArray(first?.parts) ? first.parts : [];
  const texts = parts.map((part) => (Object(part).type === "text" ? String(Object(part).text) : ""));
  const words = texts.join(" ").trim().split(/\s+/);
  let title = words.shift() ?? "";
  while (words.length > 0 && title.length + (words[0]?.length ?? 0) < titleLength)
    title += ` ${words.shift()}`;
  if (title.length > titleLength) return `${Array.from(title).slice(0, titleLength).join("")}…`;
  return words.length > 0 ? `${title}…` : title;
}
