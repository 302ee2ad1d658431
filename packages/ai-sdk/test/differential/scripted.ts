/** A language model of any version that says what a program gives it, turn by turn. */

import type { Model } from "../support/versions.ts";
import type { Major } from "./program.ts";

export interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** One answer, as a whole and as a stream. */
export interface Answer {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly {
    readonly id: string;
    readonly tool: string;
    /** Text is sent as it is, even if it is not JSON. */
    readonly input?: unknown;
    readonly more?: object;
  }[];
  /** Further content: sources, files. */
  readonly content?: readonly Part[];
  readonly finish?: string;
  readonly warnings?: readonly object[];
  readonly providerMetadata?: object;
  /** False: neither id nor time nor model. */
  readonly metadata?: false;
  /** With the bodies of request and response. */
  readonly bodies?: true;
  /** With a header that is a secret. */
  readonly cookie?: true;
  /** The parts of the stream, instead of those made of the rest. */
  readonly parts?: readonly Part[];
  /** What the call rejects with. */
  readonly throws?: unknown;
  /** What reading rejects with, after the parts. */
  readonly cut?: unknown;
  /** After so many parts nothing comes until the caller aborts. */
  readonly hang?: number;
  /** Called when it begins to hang. */
  readonly onHang?: () => void;
  /** It does not even listen to an abort. */
  readonly deaf?: true;
}

/** An answer, or those of the attempts in their order. */
export type Turn = Answer | readonly Answer[];

interface Call {
  readonly prompt: readonly { readonly role: string }[];
  readonly abortSignal?: AbortSignal;
}

const specifications = { 5: "v2", 6: "v3", 7: "v4" } as const;

export function scriptedModel(major: Major, turns: readonly Turn[], asked: () => void): Model {
  const attempts = new Map<number, number>();
  const next = ({ prompt }: Call): [Answer, number] => {
    asked();
    const turn = prompt.filter(({ role }) => role === "assistant").length;
    const attempt = attempts.get(turn) ?? 0;
    attempts.set(turn, attempt + 1);
    const given = turns[turn];
    const answer = Array.isArray(given) ? (given as readonly Answer[])[attempt] : (given as Answer);
    if (answer === undefined) throw new Error(`no answer for attempt ${attempt} of turn ${turn}`);
    return [answer, turn];
  };
  const model = {
    specificationVersion: specifications[major],
    provider: "scripted",
    modelId: "scripted-1",
    supportedUrls: {},
    doGenerate: async (call: Call) => {
      const [answer, turn] = next(call);
      if (answer.hang !== undefined) {
        answer.onHang?.();
        await aborted(call.abortSignal);
      }
      if ("throws" in answer) throw answer.throws;
      return generated(major, answer, turn);
    },
    doStream: async (call: Call) => {
      const [answer, turn] = next(call);
      if ("throws" in answer) throw answer.throws;
      const about = answer.bodies === true ? bodies(turn) : {};
      return { ...about, stream: streamed(partsOf(major, answer, turn), answer, call.abortSignal) };
    },
  };
  return model as unknown as Model;
}

/** As a provider that uses `fetch`. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function streamed(
  parts: readonly Part[],
  answer: Answer,
  signal: AbortSignal | undefined,
): ReadableStream<Part> {
  let next = 0;
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        // As from a network: one by one.
        await new Promise((resolve) => setImmediate(resolve));
        if (answer.deaf !== true && signal?.aborted === true) return controller.error(signal.reason);
        if (next === answer.hang) {
          answer.onHang?.();
          if (answer.deaf === true) return new Promise(() => {});
          await aborted(signal);
        }
        const part = parts[next++];
        if (part !== undefined) return controller.enqueue(part);
        if ("cut" in answer) controller.error(answer.cut);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

const timestamp = new Date("2026-01-02T03:04:05Z");

function bodies(turn: number): object {
  return { request: { body: { asked: turn } }, response: { headers: { "x-turn": `${turn}` } } };
}

function generated(major: Major, answer: Answer, turn: number): object {
  const { text, reasoning, calls = [], content = [], warnings = [], providerMetadata } = answer;
  const metadata = { id: `response-${turn}`, timestamp, modelId: "scripted-1.1" };
  const cookie =
    answer.cookie === true ? { headers: { "set-cookie": "session=1", "x-turn": `${turn}` } } : {};
  const body = answer.bodies === true ? { headers: { "x-turn": `${turn}` }, body: { said: turn } } : {};
  return {
    content: [
      ...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning }]),
      ...(text === undefined ? [] : [{ type: "text", text }]),
      ...content,
      ...calls.map((call) => toolCall(call)),
    ],
    ...ending(major, answer),
    warnings,
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
    ...(answer.bodies === true ? { request: { body: { asked: turn } } } : {}),
    ...(answer.metadata === false ? {} : { response: { ...metadata, ...cookie, ...body } }),
  };
}

const toolCall = ({ id, tool, input = {}, more = {} }: NonNullable<Answer["calls"]>[number]): Part => ({
  type: "tool-call",
  toolCallId: id,
  toolName: tool,
  input: typeof input === "string" ? input : JSON.stringify(input),
  ...more,
});

function ending(major: Major, { finish, calls = [] }: Answer): object {
  const unified = finish ?? (calls.length > 0 ? "tool-calls" : "stop");
  if (major > 5) return { finishReason: { unified, raw: `raw ${unified}` }, usage };
  return {
    finishReason: unified === "interrupted" ? "unknown" : unified,
    usage: {
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 15,
      reasoningTokens: 2,
      cachedInputTokens: 4,
    },
  };
}

const usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};

/** Words as a provider streams them. */
const deltas = (type: string, id: string, text: string): Part[] => [
  { type: `${type}-start`, id },
  ...(text.match(/\s*\S+/g) ?? []).map((delta) => ({ type: `${type}-delta`, id, delta })),
  { type: `${type}-end`, id },
];

export function partsOf(major: Major, answer: Answer, turn = 0): readonly Part[] {
  const { text, reasoning, calls = [], content = [], warnings = [], providerMetadata } = answer;
  if (answer.parts !== undefined)
    return answer.parts.map((part) =>
      part.type === "finish" ? { ...part, ...ending(major, answer) } : part,
    );
  const metadata = { type: "response-metadata", id: `response-${turn}`, timestamp, modelId: "scripted-1.1" };
  return [
    { type: "stream-start", warnings },
    ...(answer.metadata === false ? [] : [metadata]),
    ...(reasoning === undefined ? [] : deltas("reasoning", `thought-of-${turn}`, reasoning)),
    ...(text === undefined ? [] : deltas("text", `said-in-${turn}`, text)),
    ...content,
    ...calls.flatMap((call) => {
      const whole = toolCall(call);
      return [
        { type: "tool-input-start", id: call.id, toolName: call.tool, ...call.more },
        { type: "tool-input-delta", id: call.id, delta: whole["input"] },
        { type: "tool-input-end", id: call.id },
        whole,
      ];
    }),
    {
      type: "finish",
      ...ending(major, answer),
      ...(providerMetadata === undefined ? {} : { providerMetadata }),
    },
  ];
}
