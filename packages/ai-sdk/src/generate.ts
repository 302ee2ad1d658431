/** Calls that answer at once: text, embeddings, pictures, speech, ranks. */

import type { StepInfo } from "@durable/core";
import { anySignal, type Call } from "./call.ts";
import { callFailure, restoredError } from "./errors.ts";
import { meter } from "./meter.ts";
import type { Recorder } from "./recorder.ts";
import { keptResult, responseDefaults } from "./result.ts";

export async function recordCall(
  recorder: Recorder,
  call: Call,
  invoke: (signal: AbortSignal) => PromiseLike<object>,
): Promise<object> {
  const { name, signal, options } = call;
  const work = async (info: StepInfo): Promise<object> => {
    try {
      const result = completed(call, info, await invoke(anySignal(info.signal, signal)));
      meter(info, call.model, result);
      return result;
    } catch (error) {
      throw callFailure(error, signal);
    }
  };
  try {
    return await recorder.step(name, work, { retry: options.retry, signal });
  } catch (error) {
    throw restoredError(error);
  }
}

/** The answer of a language model has an id and a time, also where its provider gives none. */
function completed({ model }: Call, { idempotencyKey }: StepInfo, result: object): object {
  const kept = keptResult(result);
  if (!("content" in kept)) return kept;
  return {
    ...kept,
    response: { ...responseDefaults(model, idempotencyKey), ...(kept["response"] as object) },
  };
}
