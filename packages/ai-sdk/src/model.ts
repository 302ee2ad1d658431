/** A model of the AI SDK whose calls are recorded. Proven in test/matrix.test.ts. */

import { DurableError, type Context, type Journal } from "@durable/core";
import { callOf, withoutKey, type ModelId, type ModelOptions, type Params } from "./call.ts";
import { recordFedStream } from "./fed-stream.ts";
import { recordCall } from "./generate.ts";
import { recorderOf } from "./recorder.ts";
import { recordStream, type StreamResult } from "./stream.ts";

type Method = (params: Params) => PromiseLike<object>;

/**
 * Calls that are fully described by their result. Others, such as those that grant access, are not recorded.
 */
const recorded: ReadonlySet<PropertyKey> = new Set([
  "doGenerate",
  "doGenerateFromUrl",
  "doEmbed",
  "doRerank",
  "doDecide",
]);

/**
 * The same model, recorded: with a context each call is a step or a stream of the run, with a journal it is a
 * record. Works for language, embedding, image, speech, transcription and reranking models of the AI SDK 5, 6
 * and 7.
 */
export function durableModel<M extends object>(
  on: Context | Journal,
  model: M,
  options: ModelOptions = {},
): M {
  if (typeof model !== "object") {
    throw new DurableError(
      "invalid-options",
      `durableModel got a value of type ${typeof model}. Pass a model, such as openai("gpt-6-luna"), because the SDK resolves a plain name without the journal.`,
    );
  }
  const recorder = recorderOf(on);
  return new Proxy(model, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      const invoke = (params: Params): PromiseLike<object> => (value as Method).call(target, params);
      const about = target as ModelId;
      if (recorded.has(property)) {
        return (given: Params) => {
          const asked = withoutKey(given);
          const call = callOf(String(property), about, asked, options);
          return recordCall(recorder, call, (abortSignal) => invoke({ ...asked.params, abortSignal }));
        };
      }
      // Only language models have supportedUrls. The others stream speech, and get a stream, too.
      if (property === "doStream" && !("supportedUrls" in target))
        return (given: Params) => recordFedStream(recorder, { model: about, given, invoke }, options);
      if (property === "doStream") {
        return (given: Params) => {
          const asked = withoutKey(given);
          const call = callOf("doStream", about, asked, options);
          const open = (abortSignal: AbortSignal): PromiseLike<StreamResult> =>
            invoke({ ...asked.params, abortSignal }) as PromiseLike<StreamResult>;
          return recordStream(recorder, call, open);
        };
      }
      return value.bind(target) as unknown;
    },
  });
}
