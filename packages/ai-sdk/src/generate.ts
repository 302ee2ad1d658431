/** Calls with one whole result: text, embeddings, images, speech, rankings. Proven in test/matrix.test.ts. */

import type { StepInfo } from "@durable/core";
import { Attempts } from "./attempts.ts";
import { anySignal, type Call } from "./call.ts";
import { abortAgain } from "./abort.ts";
import { abortOf, restoredError } from "./errors.ts";
import { meter } from "./meter.ts";
import { questionField, recordedQuestion } from "./on-change.ts";
import { keepPrompt } from "./prompt.ts";
import type { Recorder } from "./recorder.ts";
import { keptResult, responseDefaults, withBodies } from "./result.ts";
import { noteCalls } from "./traps.ts";

export async function recordCall(
  recorder: Recorder,
  call: Call,
  invoke: (signal: AbortSignal) => PromiseLike<object>,
): Promise<object> {
  const { name, signal, options } = call;
  let live: object | null = null;
  const attempts = new Attempts(call, recorder.keepsFailures);
  const work = (info: StepInfo): Promise<object> =>
    attempts.of(info.signal, async () => {
      keepPrompt(info, call);
      const given = await invoke(anySignal(info.signal, signal));
      // A model of one's own may return anything, and what wraps it may know what that means.
      if (typeof given !== "object" || given === null) return given;
      const result = completed(call, info, given);
      meter(info, call.model, result);
      live = given;
      return { ...result, ...recordedQuestion(call, recorder.keepsFailures) };
    });
  try {
    const recorded = await recorder.step(name, work, { retry: options.retry, signal, call });
    if (typeof recorded !== "object" || recorded === null) return recorded;
    const result = withoutQuestion(recorded);
    if ("content" in result) noteCalls(result.content);
    return live === null ? result : withBodies(result, live);
  } catch (error) {
    abortAgain(signal, abortOf(error));
    throw restoredError(error);
  }
}

/** Gives the result of a language model an id and a time if its provider sends none. */
function completed({ model }: Call, { idempotencyKey }: StepInfo, result: object): object {
  const kept = keptResult(result);
  if (!("content" in kept)) return kept;
  return {
    ...kept,
    response: { ...responseDefaults(model, idempotencyKey), ...(kept["response"] as object) },
  };
}

function withoutQuestion(result: object): object {
  const { [questionField]: _, ...rest } = result as Readonly<Record<string, unknown>>;
  return rest;
}
