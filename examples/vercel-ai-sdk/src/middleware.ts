/**
 * A middleware of the AI SDK over a journal: a model call that is recorded is not made again.
 * It stands here to be read and changed; `@durable/ai-sdk` is the same idea with everything that real agents need.
 */

import { createHash } from "node:crypto";
import type { Journal } from "@durable/core";
import type { LanguageModelMiddleware } from "ai";
import { usedBy, type Call, type Stream } from "./used.ts";

export function recorded(journal: Journal): LanguageModelMiddleware {
  const asked = new Map<string, number>();
  /** Named after what is asked, so that calls side by side find their own records. */
  const keyOf = (kind: string, { params, model }: Call): string => {
    const { abortSignal: _, headers: __, ...question } = params;
    const text = JSON.stringify([model.provider, model.modelId, question]);
    const name = `${kind} ${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
    // The same question may be asked several times, for several answers.
    const count = (asked.get(name) ?? 0) + 1;
    asked.set(name, count);
    return `${name} ${count}`;
  };
  return {
    specificationVersion: "v4",
    wrapGenerate: (call) =>
      journal.record(keyOf("generate", call), async ({ meter }) => {
        // The request repeats the whole conversation: it is no part of the answer.
        const { request: _, response, ...result } = await call.doGenerate();
        // The SDK would make up what the provider left out, and something else the next time.
        const { headers: __, body: ___, ...about } = response ?? {};
        meter(usedBy(call, result));
        return { ...result, response: { timestamp: new Date(), ...about } };
      }),
    wrapStream: async (call) => ({
      stream: journal.recordStream(keyOf("stream", call), async ({ meter }) =>
        unbroken((await call.doStream()).stream, (end) => meter(usedBy(call, end))),
      ),
    }),
  };
}

/** The parts of a stream. An error among them ends it, so that only a whole answer is kept. */
async function* unbroken(stream: Stream, ended: (end: Parameters<typeof usedBy>[1]) => void) {
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "finish") ended(part);
    yield part;
  }
}
