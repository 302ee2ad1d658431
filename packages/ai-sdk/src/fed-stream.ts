/**
 * Streams whose input is a stream, too: transcription, speech and translation while somebody speaks.
 *
 * D1. The input can be read once, so there is one attempt per process, and its content is not part of the name: calls
 *     with equal settings are matched by order.
 * D2. On replay the input is not read, but cancelled; with the failure, if the call failed.
 *
 * Proven in test/media.test.ts.
 */

import { callOf, withoutKey, type ModelId, type ModelOptions, type Params } from "./call.ts";
import type { Recorder } from "./recorder.ts";
import { recordStream, type StreamResult } from "./stream.ts";

interface Fed {
  readonly model: ModelId;
  readonly given: Params;
  readonly method: (params: Params) => PromiseLike<object>;
}

export function recordFedStream(
  recorder: Recorder,
  { model, given, method }: Fed,
  options: ModelOptions,
): Promise<StreamResult> {
  const { params, key } = withoutKey(given);
  const inputs = Object.values(params).filter((value) => value instanceof ReadableStream);
  const settings = Object.entries(params).filter(([, value]) => !(value instanceof ReadableStream));
  const asked = { params: Object.fromEntries(settings), key };
  const call = { ...callOf("doStream", model, asked, { ...options, retry: false }), fed: true };
  let opened = false;
  const result = recordStream(recorder, call, (abortSignal) => {
    opened = true;
    return method({ ...params, abortSignal }) as PromiseLike<StreamResult>;
  });
  const leave = (reason?: unknown): void => {
    if (!opened) for (const input of inputs) if (!input.locked) input.cancel(reason).catch(() => {});
  };
  result.then(() => leave(), leave);
  return result;
}
