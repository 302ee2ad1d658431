/** Calls with one whole result: text, embeddings, images, speech, rankings. Proven in test/matrix.test.ts. */

import type { StepInfo } from "@durable/core";
import { anySignal, type Call } from "./call.ts";
import { abortAgain } from "./abort.ts";
import { callFailure, restoredError, wasAborted } from "./errors.ts";
import { meter } from "./meter.ts";
import type { Recorder } from "./recorder.ts";
import { keptResult, responseDefaults, withBodies } from "./result.ts";

export async function recordCall(
  recorder: Recorder,
  call: Call,
  invoke: (signal: AbortSignal) => PromiseLike<object>,
): Promise<object> {
  const { name, signal, options } = call;
  let live: object | null = null;
  const work = async (info: StepInfo): Promise<object> => {
    try {
      const given = await invoke(anySignal(info.signal, signal));
      const result = completed(call, info, given);
      meter(info, call.model, result);
      live = given;
      return result;
    } catch (error) {
      throw callFailure(error, signal);
    }
  };
  try {
    const result = await recorder.step(name, work, { retry: options.retry, signal });
    return live === null ? result : withBodies(result, live);
  } catch (error) {
    const failure = restoredError(error);
    if (wasAborted(error)) abortAgain(signal, failure);
    throw failure;
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
