/**
 * The routes of a chat, and which permission each needs. Proven in test/chat.test.ts and test/chat-attacks.test.ts.
 *
 *     POST {api}                    a message: starts a run, and streams it
 *     GET  {api}/{chatId}/stream    the current answer, from its beginning; 204 when there is none
 *     POST {api}/{chatId}/stop      stops it: closing a connection does not
 *     GET  {api}                    the chats of the user, and whether each may be read
 *     GET  {api}/{chatId}/messages  the conversation, and the answers that were replaced
 *     DELETE {api}/{chatId}         deletes the chat, and each of its runs
 */

import type { Action } from "@durable/core";
import { Refusal } from "./body.ts";

/**
 * What a request wants to do, for `authorize`: `start` for a message, `stream` to see an answer, `cancel` to stop it, `read` for the
 * conversation, and `delete`, each with the chat, its workflow, and the run if there is one; and `list` for the chats of the
 * user, without a chat.
 */
export interface ChatAction extends Action {
  readonly type: "start" | "stream" | "cancel" | "read" | "list" | "delete";
  readonly workflow: string;
}

/** One route: the permission that it needs, what the action names, and what it does. */
export interface ChatRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the path of the chat. */
  readonly path: string;
  readonly asks: ChatAction["type"];
  readonly names: readonly (keyof ChatAction)[];
  readonly act: "send" | "watch" | "stop" | "list" | "read" | "delete";
}

const answer = ["workflow", "chatId", "runId"] as const;

/** All routes of a chat. */
export const chatRoutes: readonly ChatRoute[] = [
  { method: "POST", path: "", asks: "start", names: ["workflow", "chatId"], act: "send" },
  { method: "GET", path: "/{chatId}/stream", asks: "stream", names: answer, act: "watch" },
  { method: "POST", path: "/{chatId}/stop", asks: "cancel", names: answer, act: "stop" },
  { method: "GET", path: "", asks: "list", names: ["workflow"], act: "list" },
  { method: "GET", path: "/{chatId}/messages", asks: "read", names: ["workflow", "chatId"], act: "read" },
  { method: "DELETE", path: "/{chatId}", asks: "delete", names: ["workflow", "chatId"], act: "delete" },
];

/** The route of a request, and the chat of its path; "" where the body names it. */
export function findChatRoute(
  method: string,
  pathname: string,
  api: string,
): { readonly route: ChatRoute; readonly chatId: string } {
  const [, chatId = "", verb = ""] = /^\/([^/]+)(\/[^/]+)?$/.exec(below(pathname, api)) ?? [];
  const path = chatId === "" ? below(pathname, api) : `/{chatId}${verb}`;
  const found = chatRoutes.filter((route) => route.path === path);
  if (found.length === 0) throw new Refusal(404);
  const route = found.find((one) => one.method === method);
  if (route === undefined) throw new Refusal(405);
  return { route, chatId: decoded(chatId) };
}

/** The rest of a path; what is not below it has no route. */
function below(pathname: string, api: string): string {
  return pathname.startsWith(api) ? pathname.slice(api.length) : "/";
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Refusal(400);
  }
}
