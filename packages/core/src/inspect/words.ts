/** The first words of an answer of a language model, for people. Proven in packages/ai-sdk/test/turns.test.ts. */

import { saidIn } from "./answer.ts";

/** How much of an answer is shown. */
const most = 80;
/** How much of an answer is read, in characters and in parts. */
const mostRead = 1_000;
const mostParts = 2_000;

/** Of the recorded value of a turn: its first words, or the tools that it calls. */
export function firstWords(value: unknown): string {
  const parts = saidIn(Array.isArray(value) ? value.slice(0, mostParts) : value);
  let text = "";
  for (const { type, text: whole, delta } of parts) {
    const said = type === "text" ? whole : type === "text-delta" ? delta : "";
    if (typeof said === "string") text += said;
    if (text.length > mostRead) break;
  }
  const line = text.slice(0, mostRead).replaceAll(/\s+/g, " ").trim();
  const tools = parts.flatMap(({ type, toolName }) =>
    type === "tool-call" ? [`calls ${String(toolName)}`] : [],
  );
  return cut(line === "" ? tools.slice(0, 8).join(", ") : line);
}

/** Whole characters: no half of a surrogate pair remains. */
function cut(text: string): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}...` : text;
}
