/**
 * The Model Context Protocol over stdin and stdout: one JSON-RPC message per line. Only tools are offered.
 *
 * protocol.1. Nothing but messages is written to stdout.
 */

import type { ActionType } from "@durable/core/types";
import type { Plain } from "@durable/core/inspect";
import { problemOf } from "./arguments.ts";
import { isoTimes } from "../iso-times.ts";
import { bounded } from "./bounded.ts";
import { version } from "../version.ts";

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: "object";
    readonly properties: object;
    readonly required?: readonly string[];
  };
  /** The action of a policy that it is. Tools that only read are always allowed. */
  readonly asks: ActionType;
  /** True when it changes nothing. */
  readonly readOnly: boolean;
  readonly call: (args: Readonly<Record<string, unknown>>) => Promise<Plain>;
}

interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const invalidRequest = -32_600;
const unknownMethod = -32_601;
const invalidParams = -32_602;
const parseError = -32_700;

export interface Wires {
  readonly input: NodeJS.ReadableStream;
  readonly write: (line: string) => void;
  readonly instructions: string;
}

/** Answers until the input ends. Calls run side by side; each answer carries the id of its request. */
export async function serveTools(
  tools: readonly Tool[],
  { input, write, instructions }: Wires,
): Promise<void> {
  const send = (message: object): void => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const pending = new Set<Promise<void>>();
  for await (const line of linesOf(input)) {
    if (line.trim() === "") continue;
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      send({ id: null, error: { code: parseError, message: "This is not JSON." } });
      continue;
    }
    if (Object(message) !== message || Array.isArray(message)) {
      send({ id: null, error: { code: invalidRequest, message: "A request is an object." } });
      continue;
    }
    const work = respond(message, tools, instructions).then((reply) => {
      // Notifications get no answer.
      if (message.id !== undefined && message.id !== null) send({ id: message.id, ...reply });
    });
    pending.add(work);
    void work.finally(() => pending.delete(work));
  }
  await Promise.all(pending);
}

/** Lines as the protocol has them: other separators, such as U+2028, may stand inside of a text. */
async function* linesOf(input: AsyncIterable<string | Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of input) {
    const lines =
      `${rest}${typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  yield rest;
}

async function respond(
  { method, params: given }: Message,
  tools: readonly Tool[],
  instructions: string,
): Promise<object> {
  const params = Object(given) as Readonly<Record<string, unknown>>;
  switch (method) {
    case "initialize": {
      const asked = String(params["protocolVersion"]);
      return {
        result: {
          protocolVersion: versions.includes(asked) ? asked : versions[0],
          capabilities: { tools: {} },
          serverInfo: { name: "durable", version: version() },
          instructions,
        },
      };
    }
    case "ping":
      return { result: {} };
    case "tools/list":
      return { result: { tools: tools.map(described) } };
    case "tools/call":
      return callTool(tools, params);
    case undefined:
      return { error: { code: invalidRequest, message: "The message has no method." } };
    default:
      return { error: { code: unknownMethod, message: `There is no method "${method}".` } };
  }
}

function described({ name, description, inputSchema, readOnly }: Tool): object {
  return {
    name,
    description,
    inputSchema,
    annotations: { readOnlyHint: readOnly, destructiveHint: !readOnly, openWorldHint: false },
  };
}

/** An error of a tool is part of its result, so that the model can read it and try something else. */
async function callTool(tools: readonly Tool[], params: Readonly<Record<string, unknown>>): Promise<object> {
  const tool = tools.find(({ name }) => name === params["name"]);
  if (tool === undefined)
    return { error: { code: invalidParams, message: `There is no tool "${String(params["name"])}".` } };
  try {
    const args = (params["arguments"] ?? {}) as Readonly<Record<string, unknown>>;
    const problem = problemOf(tool, args);
    if (problem !== null) throw new Error(problem);
    const value = bounded(isoTimes(await tool.call(args)), tool.readOnly ? args : {});
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return {
      result: {
        content: [{ type: "text", text: JSON.stringify(value) }],
        structuredContent: isObject ? value : { value },
      },
    };
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const text = `${typeof code === "string" ? `${code}: ` : ""}${typeof message === "string" ? message : String(error)}`;
    return { result: { content: [{ type: "text", text }], isError: true } };
  }
}
