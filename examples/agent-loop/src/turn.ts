/** What a turn of the model records, and how to read it. */

import type { AssistantModelMessage, ModelMessage, ToolCallPart, ToolModelMessage } from "ai";

/** A turn as it is journaled: plain data, without earlier turns. */
export interface Turn {
  /** The model's message, and the SDK's answers to invalid calls. */
  readonly messages: readonly (AssistantModelMessage | ToolModelMessage)[];
  readonly tokens: { readonly in: number; readonly out: number };
}

export type ToolCall = Pick<ToolCallPart, "toolCallId" | "toolName" | "input">;

export interface Answer {
  readonly text: string;
  /** Documents that the text cites and a search has found. */
  readonly sources: readonly string[];
}

/** Calls that wait for a result: neither run by the provider nor refused by the SDK. */
export function openCalls({ messages }: Turn): ToolCall[] {
  const answered = new Set(
    messages.flatMap(({ role, content }) =>
      role === "tool" ? content.flatMap((part) => (part.type === "tool-result" ? part.toolCallId : [])) : [],
    ),
  );
  return messages
    .flatMap(({ role, content }) => (role === "assistant" && typeof content !== "string" ? content : []))
    .filter((part) => part.type === "tool-call")
    .filter(({ toolCallId, providerExecuted }) => providerExecuted !== true && !answered.has(toolCallId));
}

/** True when the model called no tool: its text is the answer. */
export function isLast(turn: Turn): boolean {
  return turn.messages.at(-1)?.role !== "tool" && openCalls(turn).length === 0;
}

/** The text of a message, without its calls. */
export function textOf(message: ModelMessage | undefined): string {
  if (message?.role !== "assistant") return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The answer of a conversation. A citation of a file that no search has found is not counted. */
export function answerOf(messages: readonly ModelMessage[]): Answer {
  const text = textOf(messages.at(-1)).trim();
  const seen = JSON.stringify(messages.filter(({ role }) => role === "tool"));
  const cited = [...text.matchAll(/\[([\w-]+\.md)\]/g)].map(([, file]) => file as string);
  return { text, sources: [...new Set(cited)].filter((file) => seen.includes(`"${file}"`)) };
}
