/**
 * The tokens of a call, from the answer as the provider sends it.
 *
 * usage.1. Every provider counts differently: Anthropic has reads and writes of its cache beside the input, Google thoughts beside
 *     the output. Here input and output are whole, and the others are parts of them.
 * usage.2. In a stream the last count of each kind holds: those before it are of the part that had come.
 */

import type { StepInfo } from "../engine/calls/info.ts";
import type { Usage } from "../values/usage.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The usage in an answer, or in one event of a stream, of OpenAI (chat, responses, embeddings) and of what speaks its language, of
 * Anthropic and of Google; `undefined` when it has none.
 */
export function usageIn(answer: unknown): Usage | undefined {
  const { response, message, ...others } = fieldsOf(answer);
  // An event may hold the answer, as "response.completed" and "message_start" do.
  const inner = [response, message].map(fieldsOf).find(hasUsage) ?? others;
  const { usageMetadata, usage } = inner;
  const counted = typeof usageMetadata === "object" && usageMetadata !== null ? usageMetadata : usage;
  if (typeof counted !== "object" || counted === null) return undefined;
  const { model, modelVersion } = inner;
  const found = countsOf(counted as Fields, counted === usageMetadata);
  return usageOfCounts(firstText(model, modelVersion), found);
}

/** What was counted of one call, by an adapter or a provider. */
export interface Counted {
  /** Reads and writes of the cache included. */
  readonly input?: unknown;
  /** Reasoning included. */
  readonly output?: unknown;
  readonly cached?: unknown;
  readonly written?: unknown;
  readonly reasoning?: unknown;
}

/** The usage that a meter takes. Anything but a count is 0, because it must not fail a call that succeeded. */
export function usageOfCounts(model: unknown, counted: Counted, provider?: unknown): Usage {
  const [cached, written, reasoning] = [counted.cached, counted.written, counted.reasoning].map(count);
  return {
    model: nameOf(model) ?? "unknown",
    ...(provider === undefined ? {} : { provider: nameOf(provider) ?? "" }),
    inputTokens: count(counted.input),
    outputTokens: count(counted.output),
    ...(cached ? { cachedInputTokens: cached } : {}),
    ...(written ? { cacheWriteTokens: written } : {}),
    ...(reasoning ? { reasoningTokens: reasoning } : {}),
  };
}

function countsOf(usage: Fields, isGoogle: boolean): Counted {
  if (isGoogle) {
    const { promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usage;
    return {
      input: count(promptTokenCount) + count(toolUsePromptTokenCount),
      output: count(candidatesTokenCount) + count(thoughtsTokenCount),
      cached: usage["cachedContentTokenCount"],
      reasoning: thoughtsTokenCount,
    };
  }
  const { input_tokens, output_tokens, prompt_tokens, completion_tokens } = usage;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  const inputs = fieldsOf(usage["input_tokens_details"] ?? usage["prompt_tokens_details"]);
  const outputs = fieldsOf(usage["output_tokens_details"] ?? usage["completion_tokens_details"]);
  return {
    input: count(input_tokens ?? prompt_tokens) + count(read) + count(written),
    output: output_tokens ?? completion_tokens,
    cached: read ?? inputs["cached_tokens"],
    written: written ?? inputs["cache_write_tokens"],
    reasoning: outputs["reasoning_tokens"],
  };
}

/** The sum of a stream, from its events. */
export class EventMeter {
  readonly #seen = new Map<string, unknown>();

  /** Takes an event. Counts in a later one replace those before. */
  take(event: unknown): void {
    const { response, message, ...others } = fieldsOf(event);
    for (const one of [response, message, others].map(fieldsOf))
      for (const name of ["model", "modelVersion", "usage", "usageMetadata"]) this.#note(name, one[name]);
  }

  #note(name: string, value: unknown): void {
    if (typeof value === "string" && value !== "") this.#seen.set(name, value);
    if (typeof value !== "object" || value === null) return;
    const known = Object.entries(value).filter(([, one]) => one !== null && one !== undefined);
    this.#seen.set(name, { ...fieldsOf(this.#seen.get(name)), ...Object.fromEntries(known) });
  }

  get usage(): Usage | undefined {
    return usageIn(Object.fromEntries(this.#seen));
  }
}

/**
 * Work whose answer is metered: a call of a client, with a whole answer or a stream of events. For `ctx.step` and `ctx.stream`. A
 * stream that breaks off is metered by what it had counted.
 * @example await ctx.step("ask", metered(({ signal }) => client.messages.create(question, { signal })), { retry: clientRetry });
 */
export function metered<T>(work: (info: StepInfo) => T | PromiseLike<T>): (info: StepInfo) => Promise<T> {
  return async (info) => {
    const answer = await work(info);
    if (isEvents(answer)) return meteredEvents(answer, info) as T;
    const usage = usageIn(answer);
    if (usage !== undefined) info.meter(usage);
    return answer;
  };
}

/** The same events; what they counted is metered at their end. */
export async function* meteredEvents<T>(events: AsyncIterable<T>, info: StepInfo): AsyncGenerator<T> {
  const meter = new EventMeter();
  try {
    for await (const event of events) {
      meter.take(event);
      yield event;
    }
  } finally {
    if (meter.usage !== undefined) info.meter(meter.usage);
  }
}

function isEvents(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
}

function hasUsage({ usage, usageMetadata }: Fields): boolean {
  return [usage, usageMetadata].some((one) => typeof one === "object" && one !== null);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function firstText(...texts: readonly unknown[]): unknown {
  return texts.find((text) => typeof text === "string" && text !== "");
}

const longestName = 200;

function nameOf(name: unknown): string | undefined {
  return typeof name === "string" && name !== "" ? name.slice(0, longestName) : undefined;
}

function count(tokens: unknown): number {
  return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : 0;
}
