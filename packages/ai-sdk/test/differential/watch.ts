/** Watches what a call of the SDK gives, in every version. */

import type { Bench } from "./program.ts";
import { settled } from "./time.ts";

type Fields = Record<string, unknown>;

const facts = [
  "text",
  "reasoningText",
  "reasoning",
  "content",
  "files",
  "sources",
  "toolCalls",
  "toolResults",
  "finishReason",
  "rawFinishReason",
  "usage",
  "totalUsage",
  "warnings",
  "request",
  "response",
  "providerMetadata",
] as const;

/** A value, or what it was rejected with; `pending` if nothing comes, as in version 5 after a stream has failed. */
async function settling(get: () => unknown): Promise<unknown> {
  try {
    return await Promise.race([get(), settled().then(() => "pending")]);
  } catch (error) {
    return { rejected: error };
  }
}

/** The facts of a result or of a step. They are getters, and for a stream promises. */
async function factsOf(result: object, names: readonly string[] = facts): Promise<Fields> {
  const fields: Fields = {};
  for (const name of names) if (name in result) fields[name] = await settling(() => (result as Fields)[name]);
  return fields;
}

async function stepsOf(result: object): Promise<unknown> {
  const steps = await settling(() => (result as Fields)["steps"]);
  if (!Array.isArray(steps)) return steps;
  return Promise.all(steps.map((step: object) => factsOf(step)));
}

/** Notes the callbacks, in their order. */
export class Callbacks {
  readonly log: unknown[] = [];
  readonly options: Fields = {
    onError: ({ error }: { error: unknown }) => void this.log.push(["error", error]),
    onAbort: ({ steps }: { steps: readonly unknown[] }) => void this.log.push(["abort", steps.length]),
    onStepFinish: (step: Fields) =>
      void this.log.push(["step", step["text"], step["finishReason"], step["usage"]]),
    onFinish: (end: Fields) =>
      void this.log.push(["finish", end["text"], end["finishReason"], end["totalUsage"] ?? end["usage"]]),
    onChunk: ({ chunk }: { chunk: Fields }) => void this.log.push(["chunk", chunk["type"]]),
  };
}

/** The result of `generateText`, or of anything like it, or its error. */
export async function generated(
  call: () => PromiseLike<object>,
  more: readonly string[] = [],
): Promise<unknown> {
  try {
    const result = await call();
    return { ...(await factsOf(result, [...facts, ...more])), steps: await stepsOf(result) };
  } catch (error) {
    return { thrown: error };
  }
}

/** All parts of a stream, and how it ended. */
export async function partsIn(stream: AsyncIterable<unknown>, on: (part: Fields) => void = () => {}) {
  const parts: unknown[] = [];
  try {
    for await (const part of stream) {
      parts.push(part);
      on(part as Fields);
    }
    return { parts };
  } catch (error) {
    return { parts, thrown: error };
  }
}

/** Everything of a `streamText`: its parts, the promises of its result, and the callbacks. */
export async function streamed(
  { sdk }: Bench,
  options: object,
  { on, more = [] }: { readonly on?: (part: Fields) => void; readonly more?: readonly string[] } = {},
): Promise<unknown> {
  const { log, options: callbacks } = new Callbacks();
  try {
    const result = sdk.streamText({ ...callbacks, ...options } as never) as unknown as Fields;
    const read = await partsIn(result["fullStream"] as AsyncIterable<unknown>, on);
    return { ...read, ...(await factsOf(result, [...facts, ...more])), steps: await stepsOf(result), log };
  } catch (error) {
    return { thrown: error, log };
  }
}

/** The chunks that a browser gets, and the message that they make. */
export async function shown({ sdk }: Bench, options: object, how: object = {}): Promise<unknown> {
  const { log, options: callbacks } = new Callbacks();
  const result = sdk.streamText({ ...callbacks, ...options } as never);
  const chunks = await partsIn(
    result.toUIMessageStream({
      generateMessageId: () => "message-1",
      onError: (error: unknown) => `shown: ${String(error)}`,
      onFinish: (end: object) => void log.push(["shown", end]),
      ...how,
    }),
  );
  return { chunks, log };
}
