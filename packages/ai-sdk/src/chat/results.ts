/**
 * Results of tools without `execute`, which the client of a chat has and sends: input like any other.
 *
 * results.1. With the tools of the chat, a result passes only if its tool is one of them, has no `execute`, and the result fits
 *     its `outputSchema`. A result that a run recorded does not come from the client, and is not checked.
 * results.2. Where the run that made the call is gone, its input must fit the `inputSchema` as well.
 *
 * Proven in test/chat-results.test.ts.
 */

import type { StandardSchema } from "@durable/core";
import { Refusal } from "./body.ts";

/** A tool of the AI SDK, as far as results of a client are checked against it. */
export interface ChatTool {
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly execute?: unknown;
}

/** A call with a result that the client gave. */
export interface ClientResult {
  readonly tool: string;
  /** The part of the message. */
  readonly part: Readonly<Record<string, unknown>>;
  /** A run of the chat has recorded the call, with this input. */
  readonly isMade: boolean;
}

export async function assertResults(
  tools: Readonly<Record<string, ChatTool>>,
  results: readonly ClientResult[],
): Promise<void> {
  for (const { tool: name, part, isMade } of results) {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (tool === undefined) throw refusal(name, "the handler has no such tool");
    if (typeof tool.execute === "function") throw refusal(name, "the server executes it");
    if (!isMade && !(await fits(tool.inputSchema, part["input"])))
      throw refusal(name, "its input does not fit the inputSchema");
    const { state, output, errorText } = part;
    const isRight =
      state === "output-error" ? typeof errorText === "string" : await fits(tool.outputSchema, output);
    if (!isRight) throw refusal(name, "it does not fit the outputSchema");
  }
}

/** The name comes from the client. */
function refusal(name: string, why: string): Refusal {
  const message = `The request has a result of the tool ${JSON.stringify(name.slice(0, 128))} that cannot be used: ${why}.`;
  return new Refusal(422, { code: "invalid-tool-result", message });
}

interface SdkSchema {
  readonly validate?: (value: unknown) => unknown;
}

/** Schemas of the SDK: Standard Schema, `jsonSchema()`, or a function that makes one of them. */
async function fits(given: unknown, value: unknown): Promise<boolean> {
  const schema: unknown =
    typeof given === "function" && !("~standard" in given) ? (given as () => unknown)() : given;
  try {
    const { "~standard": standard, validate } = Object(schema) as Partial<StandardSchema> & SdkSchema;
    if (standard !== undefined) return (await standard.validate(value)).issues === undefined;
    if (typeof validate !== "function") return true;
    return (Object(await validate(value)) as { readonly success?: unknown }).success === true;
  } catch {
    return false;
  }
}
