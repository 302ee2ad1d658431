/** A language model of the latest version, made of what a test wants it to say. */

import { setTimeout as delay } from "node:timers/promises";
import type { Model as AnyModel } from "./versions.ts";

type Model = Extract<AnyModel, { specificationVersion: "v4" }>;
export type Call = Parameters<Model["doStream"]>[0];
type Stream = Awaited<ReturnType<Model["doStream"]>>["stream"];
export type StreamPart = Stream extends ReadableStream<infer P> ? P : never;

export const usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};

export const finish = (unified: "stop" | "error" | "interrupted" | "tool-calls" = "stop"): StreamPart => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage,
});

/** Words as a provider streams them. */
export function words(text: string, end: readonly StreamPart[] = [finish()]): StreamPart[] {
  const deltas = text.match(/\s*\S+/g) ?? [];
  return [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "0" },
    ...deltas.map((delta): StreamPart => ({ type: "text-delta", id: "0", delta })),
    { type: "text-end", id: "0" },
    ...end,
  ];
}

/** Given one by one; an error is what reading then rejects with, and a promise is waited for. */
export function streamOf(
  parts: readonly (StreamPart | Error | Promise<never>)[],
  { paceMs = 0, signal }: { readonly paceMs?: number; readonly signal?: AbortSignal | undefined } = {},
): Stream {
  let next = 0;
  return new ReadableStream<StreamPart>({
    async pull(controller) {
      if (paceMs > 0) await delay(paceMs, undefined, signal === undefined ? {} : { signal });
      const part = await parts[next++];
      if (part === undefined) controller.close();
      else if (part instanceof Error) controller.error(part);
      else controller.enqueue(part);
    },
  });
}

type Said = string | readonly (StreamPart | Error | Promise<never>)[];

export interface FakeModel extends Model {
  /** Calls so far. */
  readonly calls: Call[];
}

/** Streams and generates what `say` gives for a call, counted from 1. */
export function fakeModel(
  say: (call: Call, number: number) => Said,
  { paceMs = 0 }: { readonly paceMs?: number } = {},
): FakeModel {
  const calls: Call[] = [];
  const said = (call: Call): Said => {
    calls.push(call);
    return say(call, calls.length);
  };
  return {
    specificationVersion: "v4",
    provider: "fake",
    modelId: "fake-1",
    supportedUrls: {},
    calls,
    doGenerate: async (call) => {
      const text = said(call);
      if (typeof text !== "string") throw new TypeError("this model streams");
      return {
        content: [{ type: "text", text }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
    doStream: async (call) => {
      const parts = said(call);
      const list = typeof parts === "string" ? words(parts) : parts;
      return { stream: streamOf(list, { paceMs, signal: call.abortSignal }) };
    },
  };
}

/** What the user said last. */
export function asked({ prompt }: Call): string {
  const content = prompt.at(-1)?.content;
  if (typeof content === "string" || content === undefined) return content ?? "";
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
