/**
 * Finds the messages of a model call in what a step recorded: messages of the AI SDK, the content of a result, or the
 * parts of a stream. Values of other shapes have none.
 */

import { partsOfChunk, type Plain } from "@durable/core/inspect";

export interface ChatPart {
  readonly type: "text" | "reasoning" | "call" | "result" | "other";
  /** The tool of a call or a result. */
  readonly name: string;
  readonly text: string;
}

export interface ChatMessage {
  readonly role: string;
  readonly parts: readonly ChatPart[];
}

type Fields = Readonly<Record<string, Plain>>;

const textIn = (value: Plain | undefined): string => (typeof value === "string" ? value : "");

/** The messages of a value; empty when it has none. */
export function chatOf(value: Plain | undefined): ChatMessage[] {
  if (isMessages(value)) return value.map(messageOf);
  if (!isFields(value)) return [];
  const { messages, content } = value;
  if (isMessages(messages)) return messages.map(messageOf);
  // The result of a model: content with parts, and a reason why it ended.
  if (isList(content) && content.length > 0 && content.every(isPart))
    return [{ role: "assistant", parts: partsOf(content) }];
  return [];
}

function isList(value: Plain | undefined): value is readonly Plain[] {
  return Array.isArray(value);
}

function isFields(value: Plain | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMessages(value: Plain | undefined): value is readonly Fields[] {
  return isList(value) && value.length > 0 && value.every(isMessage);
}

function isMessage(message: Plain): boolean {
  return (
    isFields(message) && typeof message["role"] === "string" && ("content" in message || "parts" in message)
  );
}

function isPart(part: Plain): boolean {
  return isFields(part) && typeof part["type"] === "string";
}

function messageOf(message: Fields): ChatMessage {
  const content = message["parts"] ?? message["content"] ?? "";
  const role = textIn(message["role"]);
  return {
    role,
    parts: typeof content === "string" ? [text(content)] : partsOf(isList(content) ? content : [content]),
  };
}

function partsOf(parts: readonly Plain[]): ChatPart[] {
  return parts.map((part) => (isFields(part) ? partOf(part) : text(shown(part))));
}

function text(content: string): ChatPart {
  return { type: "text", name: "", text: content };
}

function partOf(part: Fields): ChatPart {
  const type = textIn(part["type"]);
  const name = textIn(part["toolName"]);
  if (type === "text") return text(textIn(part["text"]));
  if (type === "reasoning") return { type, name: "", text: textIn(part["text"]) };
  if (type === "tool-call") return { type: "call", name, text: shown(part["input"] ?? part["args"]) };
  if (type === "tool-result")
    return { type: "result", name, text: shown(outputOf(part["output"] ?? part["result"])) };
  return { type: "other", name: type, text: shown(part) };
}

/** The SDK wraps outputs: `{ type: "json", value }`. */
function outputOf(output: Plain | undefined): Plain | undefined {
  return isFields(output) && typeof output["type"] === "string" && "value" in output
    ? output["value"]
    : output;
}

function shown(value: Plain | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** The message that the parts of a stream make up. */
export function chatOfChunks(chunks: readonly Plain[]): ChatMessage[] {
  const parts: { type: ChatPart["type"]; name: string; text: string; id: string }[] = [];
  const add = (type: ChatPart["type"], id: string, more: string): void => {
    const open = parts.findLast((part) => part.id === id && part.type === type);
    if (open === undefined) parts.push({ type, name: "", text: more, id });
    else open.text += more;
  };
  for (const chunk of chunks.flatMap((one) => partsOfChunk(one) as readonly Plain[])) {
    if (typeof chunk === "string") add("text", "", chunk);
    if (!isFields(chunk)) continue;
    const id = textIn(chunk["id"]);
    const more = textIn(chunk["delta"] ?? chunk["text"] ?? chunk["textDelta"]);
    if (chunk["type"] === "text-delta") add("text", id, more);
    if (chunk["type"] === "reasoning-delta") add("reasoning", id, more);
    if (chunk["type"] === "tool-call" || chunk["type"] === "tool-result")
      parts.push({ ...partOf(chunk), id: textIn(chunk["toolCallId"]) });
  }
  return parts.length === 0 ? [] : [{ role: "assistant", parts }];
}
