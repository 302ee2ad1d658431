/** A step's value in a few words for the screen. */

import type { ToolOutput } from "./tools.ts";
import { openCalls, type Turn } from "./turn.ts";

export function describe(key: string, value: unknown): string {
  return key.startsWith("think") ? turn(value as Turn) : output(value as ToolOutput);
}

function turn(value: Turn): string {
  const calls = openCalls(value).map(({ toolName, input }) => {
    const [argument = ""] = Object.values(input as Record<string, unknown>).map(String);
    return `${toolName}("${argument}")`;
  });
  return calls.length === 0 ? "answers" : `calls ${calls.join(" and ")}`;
}

function output(value: ToolOutput): string {
  if ("error" in value) return `error: ${value.error}`;
  if ("result" in value) return `= ${value.result}`;
  if ("hits" in value) return value.hits.map(({ file }) => file).join(", ") || "nothing found";
  return `low water ${value.lowWater.height} m, high water ${value.highWater.height} m`;
}
