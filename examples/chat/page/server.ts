/** What the page asks the server besides answers. */

import type { ChatAnswer, ChatHistory, ChatPage } from "@durable/ai-sdk/chat";
import type { UIMessage } from "ai";
import type { Notes, Thumb } from "../src/notes.ts";

/** What the server knows of a chat. */
export interface Known {
  readonly messages: UIMessage[];
  readonly answers: readonly ChatAnswer[];
  readonly notes: Notes;
}

export async function knownOf(chatId: string): Promise<Known> {
  const id = encodeURIComponent(chatId);
  const [{ messages, answers }, notes] = await Promise.all([
    get<ChatHistory>(`/api/chat/${id}/messages`),
    get<Notes>(`/api/notes/${id}`),
  ]);
  return { messages: messages as unknown as UIMessage[], answers, notes };
}

export function chatsAfter(cursor: string | null): Promise<ChatPage> {
  return get<ChatPage>(cursor === null ? "/api/chat" : `/api/chat?cursor=${cursor}`);
}

export async function deleteChat(chatId: string): Promise<void> {
  await checked(await fetch(`/api/chat/${encodeURIComponent(chatId)}`, { method: "DELETE" }));
}

export async function giveThumb(chatId: string, runId: string, thumb: Thumb): Promise<Notes> {
  const response = await post(`/api/notes/${encodeURIComponent(chatId)}`, { runId, thumb });
  return (await checked(response)).json() as Promise<Notes>;
}

/** Says something to an answer that is being written. Repeated with the same id, it is said once. */
export async function steer(runId: string, text: string, id: string): Promise<"said" | "ended" | "refused"> {
  const path = `/api/runs/${encodeURIComponent(runId)}/messages/steer`;
  const response = await post(path, { payload: text, id });
  if (response.status === 410) return "ended";
  if (response.status >= 400 && response.status < 500) return "refused";
  await checked(response);
  return "said";
}

export function post(path: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function get<T>(path: string): Promise<T> {
  return (await checked(await fetch(path))).json() as Promise<T>;
}

async function checked(response: Response): Promise<Response> {
  if (!response.ok) throw new Error(`The server answered with ${response.status}.`);
  return response;
}
