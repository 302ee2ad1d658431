/**
 * A language model for tests that follows a script.
 *
 * M1. The same prompt gets the same turn again, so that a repeated call after a crash uses up no turn.
 * M2. A turn that fails is used up: the next attempt gets the turn after it.
 * M3. A call after the end of the script fails with the prompt in its message, and is not retried.
 *
 * Proven in test/kit-parts.test.ts.
 */

import { assertOptions } from "@durable/core/storage";
import { place } from "./ambient.ts";
import { calledAt } from "./call-site.ts";
import type { ModelCallOptions, ModelMessage, ModelResult, ModelStreamPart } from "./model-types.ts";
import { resultOf, streamOf, type SpokenTurn } from "./model-stream.ts";

/** A turn that fails like a provider; an `Error` in its place is thrown unchanged. */
export interface FailedTurn {
  readonly fail: string;
  /** HTTP status; 503 by default. */
  readonly status?: number | undefined;
  /** Seconds, sent as `retry-after`. */
  readonly retryAfter?: number | undefined;
}

/** One answer of the model: a text, a turn with tool calls, or a failure. */
export type ModelTurn = string | SpokenTurn | FailedTurn | Error;

/** One call of a scripted model, for the script and for tests. */
export interface ModelCall {
  /** The number of the call, from 1. */
  readonly number: number;
  /** The turn of the conversation: one more than the answers of the model in the prompt. */
  readonly turn: number;
  /** How often this prompt was sent, this time included. */
  readonly attempt: number;
  readonly stream: boolean;
  readonly prompt: readonly ModelMessage[];
  /** The last text of the user. */
  readonly question: string;
  /** Tool results of the conversation so far, in order. */
  readonly toolResults: readonly { readonly tool: string; readonly value: unknown }[];
  /** Names of the tools that were offered. */
  readonly tools: readonly string[];
}

/** A list of turns, or a function that chooses the next one. */
export type ModelScript =
  | readonly ModelTurn[]
  | ((prompt: readonly ModelMessage[], call: ModelCall) => ModelTurn | Promise<ModelTurn>);

/** A language model that follows a script. It fits where the AI SDK 7 expects a model. */
export interface ScriptedModel {
  readonly specificationVersion: "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  doGenerate(options: ModelCallOptions): Promise<ModelResult>;
  doStream(options: ModelCallOptions): Promise<{ stream: ReadableStream<ModelStreamPart> }>;
  /** Every call since the last reset. */
  readonly calls: readonly ModelCall[];
  /** Forgets all calls and starts the script from its beginning. */
  reset(): void;
}

/** Creates a language model that needs no key and answers by a script. */
export function scriptedModel(
  script: ModelScript,
  options: { readonly modelId?: string | undefined } = {},
): ScriptedModel {
  assertOptions(options, "modelId", "scriptedModel");
  const { modelId = "scripted" } = options;
  const calls: ModelCall[] = [];
  const list = typeof script === "function" ? null : new TurnList(script);
  const answer = async (options: ModelCallOptions, stream: boolean): Promise<ModelResult> => {
    place.getStore()?.unrecorded?.("model", modelId, calledAt(modelId, answer));
    options.abortSignal?.throwIfAborted();
    const call = callOf(options, { stream, calls });
    calls.push(call);
    const turn = typeof script === "function" ? await script(call.prompt, call) : list?.next(call);
    return resultOf(spoken(turn ?? ""), { modelId, ...call });
  };
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId,
    supportedUrls: {},
    doGenerate: (options) => answer(options, false),
    doStream: async (options) => ({ stream: streamOf(await answer(options, true), options.abortSignal) }),
    calls,
    reset: () => {
      calls.length = 0;
      list?.reset();
    },
  };
}

/** Turns in order, each for one prompt. */
class TurnList {
  readonly #turns: readonly ModelTurn[];
  readonly #given = new Map<string, ModelTurn>();
  #used = 0;

  constructor(turns: readonly ModelTurn[]) {
    this.#turns = turns;
  }

  next(call: ModelCall): ModelTurn {
    const id = idOf(call.prompt);
    const known = this.#given.get(id);
    if (known !== undefined && !isFailure(known)) return known;
    const turn = this.#turns[this.#used++];
    if (turn === undefined) throw ranOut(this.#turns.length, call);
    this.#given.set(id, turn);
    return turn;
  }

  reset(): void {
    this.#used = 0;
    this.#given.clear();
  }
}

function isFailure(turn: ModelTurn): turn is FailedTurn | Error {
  return turn instanceof Error || (typeof turn === "object" && "fail" in turn);
}

function spoken(turn: ModelTurn): SpokenTurn {
  if (turn instanceof Error) throw turn;
  if (typeof turn === "string") return { text: turn };
  if (isFailure(turn)) throw failure(turn);
  return turn;
}

/** Like the SDK's `APICallError`, so that its `isInstance` and the retries of this library recognize it. */
function failure({ fail, status = 503, retryAfter }: FailedTurn): Error {
  return Object.assign(new Error(fail), {
    name: "AI_APICallError",
    [Symbol.for("vercel.ai.error")]: true,
    [Symbol.for("vercel.ai.error.AI_APICallError")]: true,
    url: "scripted:",
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: retryAfter === undefined ? {} : { "retry-after": String(retryAfter) },
    isRetryable: status === 408 || status === 409 || status === 429 || status >= 500,
  });
}

/** The message has no call count, because that would differ after a crash. */
function ranOut(turns: number, { prompt, turn }: ModelCall): Error {
  const last = prompt.at(-1);
  const asked = last === undefined ? "nothing" : `${last.role}: ${cut(textOf(last))}`;
  const count = turns === 1 ? "1 turn" : `${turns} turns`;
  return Object.assign(
    new Error(
      `The script of this model has ${count}, and all are used up. The next call is turn ${turn} of a conversation of ${prompt.length} message(s) that ends with ${asked}. Add a turn to scriptedModel([...]), or pass a function of the prompt.`,
    ),
    { name: "ScriptRanOut", isRetryable: false },
  );
}

function callOf(
  { prompt, tools = [] }: ModelCallOptions,
  { stream, calls }: { stream: boolean; calls: readonly ModelCall[] },
): ModelCall {
  const id = idOf(prompt);
  const users = prompt.filter(({ role }) => role === "user");
  return {
    number: calls.length + 1,
    turn: prompt.filter(({ role }) => role === "assistant").length + 1,
    attempt: calls.filter((call) => idOf(call.prompt) === id).length + 1,
    stream,
    prompt,
    question: users.length === 0 ? "" : textOf(users.at(-1) as ModelMessage),
    toolResults: prompt.flatMap(toolResultsOf),
    tools: tools.map(({ name }) => name),
  };
}

function idOf(prompt: readonly ModelMessage[]): string {
  return JSON.stringify(prompt);
}

function textOf({ content }: ModelMessage): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => part.text ?? (part.output === undefined ? "" : JSON.stringify(part.output)))
    .join("");
}

function toolResultsOf({ role, content }: ModelMessage): { tool: string; value: unknown }[] {
  if (role !== "tool" || typeof content === "string") return [];
  return content.flatMap(({ type, toolName = "", output }) => {
    if (type !== "tool-result" || typeof output !== "object" || output === null) return [];
    return [{ tool: toolName, value: "value" in output ? output.value : output }];
  });
}

function cut(text: string): string {
  return JSON.stringify(text.length <= 120 ? text : `${text.slice(0, 117)}...`);
}
