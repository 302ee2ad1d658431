/**
 * What a script reads from a prompt. Everything is in the prompt, so a script needs no state. Proven in
 * test/scripted.test.ts.
 */

import type { LanguageModelV4Prompt } from "@ai-sdk/provider";

/** The result of a tool, as the model sees it. */
export interface ToolResult {
  readonly tool: string;
  readonly value: unknown;
}

/** The first message of the user. */
export function questionOf(prompt: LanguageModelV4Prompt): string {
  const message = prompt.find(({ role }) => role === "user");
  if (message?.role !== "user") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The number of the model's next turn, from 1. */
export function turnOf(prompt: LanguageModelV4Prompt): number {
  return prompt.filter(({ role }) => role === "assistant").length + 1;
}

/** All tool results so far, in order. */
export function toolResultsOf(prompt: LanguageModelV4Prompt): ToolResult[] {
  return prompt.flatMap((message) =>
    message.role !== "tool"
      ? []
      : message.content.flatMap((part) =>
          part.type === "tool-result" && "value" in part.output
            ? [{ tool: part.toolName, value: part.output.value }]
            : [],
        ),
  );
}
