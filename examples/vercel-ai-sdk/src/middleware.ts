/**
 * A middleware of the AI SDK over a journal: a model call that is recorded is not made again.
 * It stands here to be read and changed; `@durable/ai-sdk` is the same idea with everything that real agents need.
 */

import { createHash } from "node:crypto";
import type { Journal } from "@durable/core";
import type { LanguageModelMiddleware } from "ai";

type Call = Parameters<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>[0];
type Stream = Awaited<ReturnType<Call["doStream"]>>["stream"];

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
      journal.record(keyOf("generate", call), async () => {
        // The request repeats the whole conversation: it is no part of the answer.
        const { request: _, response, ...result } = await call.doGenerate();
        // The SDK would make up what the provider left out, and something else the next time.
        const { headers: __, body: ___, ...about } = response ?? {};
        return { ...result, response: { timestamp: new Date(), ...about } };
      }),
    wrapStream: async (call) => ({
      stream: journal.recordStream(keyOf("stream", call), async () =>
        unbroken((await call.doStream()).stream),
      ),
    }),
  };
}

/** The parts of a stream. An error among them ends it, so that only a whole answer is kept. */
async function* unbroken(stream: Stream) {
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    yield part;
  }
}
