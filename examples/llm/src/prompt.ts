/** What a script reads from a prompt. All of it is in the prompt, so a script needs no memory of its own. */

import type { LanguageModelV4Prompt } from "@ai-sdk/provider";

/** A tool's answer, as the model is shown it. */
export interface ToolResult {
  readonly tool: string;
  readonly value: unknown;
}

/** The first thing the user said. */
export function questionOf(prompt: LanguageModelV4Prompt): string {
  const message = prompt.find(({ role }) => role === "user");
  if (message?.role !== "user") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Which turn of the model is next: 1 for the first. */
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
