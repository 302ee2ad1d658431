/** What a turn of the model records, and how to read it. */

import type { AssistantModelMessage, ModelMessage, ToolCallPart, ToolModelMessage } from "ai";

/** A turn as it is journaled: the model's message, and the SDK's answers to invalid calls. No earlier turns. */
export type Turn = readonly (AssistantModelMessage | ToolModelMessage)[];

export type ToolCall = Pick<ToolCallPart, "toolCallId" | "toolName" | "input">;

export interface Answer {
  readonly text: string;
  /** Documents that the text cites and a search has found. */
  readonly sources: readonly string[];
}

/** Calls that wait for a result: neither run by the provider nor refused by the SDK. */
export function openCalls(turn: Turn): ToolCall[] {
  const answered = new Set(
    turn.flatMap(({ role, content }) =>
      role === "tool" ? content.flatMap((part) => (part.type === "tool-result" ? part.toolCallId : [])) : [],
    ),
  );
  return turn
    .flatMap(({ role, content }) => (role === "assistant" && typeof content !== "string" ? content : []))
    .filter((part) => part.type === "tool-call")
    .filter(({ toolCallId, providerExecuted }) => providerExecuted !== true && !answered.has(toolCallId));
}

/** True when the model called no tool: its text is the answer. */
export function isLast(turn: Turn): boolean {
  return turn.at(-1)?.role !== "tool" && openCalls(turn).length === 0;
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
