/** A model of the AI SDK whose calls are recorded. Proven in test/matrix.test.ts. */

import { currentStep, DurableError, type Usage } from "@durable/core";
import { permitIn } from "@durable/core/storage";
import {
  callOf,
  checkedModelOptions,
  withoutKey,
  type ModelId,
  type ModelOptions,
  type Params,
} from "./call.ts";
import { recordFedStream } from "./fed-stream.ts";
import { recordCall } from "./generate.ts";
import type { Part } from "./chunks.ts";
import { estimateOf } from "./estimate.ts";
import { meter } from "./meter.ts";
import { placed, type Place } from "./place.ts";
import { recorderNow, type Recorder } from "./recorder.ts";
import { recordStream, type StreamResult } from "./stream.ts";
import { varied, type Method } from "./variant.ts";

/**
 * Calls that are fully described by their result. Others, such as those that grant access, are not recorded.
 */
const whole: ReadonlySet<PropertyKey> = new Set([
  "doGenerate",
  "doGenerateFromUrl",
  "doEmbed",
  "doRerank",
  "doDecide",
]);

/**
 * The same model, recorded: with a context each call is a step or a stream of the run, with a journal it is a
 * record. Without either, a call is recorded in the run in which it is made, and not recorded outside of runs and inside
 * of steps. Works for language, embedding, image, speech, transcription and reranking models of the AI SDK 5, 6
 * and 7.
 * @example const { text } = await generateText({ model: durableModel(ctx, openai("gpt-6-luna")), prompt });
 */
export function durableModel<M extends object>(on: Place, model: M, options?: ModelOptions): M;
export function durableModel<M extends object>(model: M, options?: ModelOptions): M;
export function durableModel<M extends object>(...args: readonly unknown[]): M {
  const { on, what: model, options: given } = placed<M, ModelOptions>(args);
  const options = checkedModelOptions(given, "durableModel");
  if (typeof model !== "object") {
    throw new DurableError(
      "invalid-options",
      `durableModel got a value of type ${typeof model}. Pass a model, such as openai("gpt-6-luna"), because the SDK resolves a plain name without the journal.`,
    );
  }
  return new Proxy(model, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      const method = value.bind(target) as Method;
      const record = recorderFor(property, target);
      if (record === null) return method;
      return (given: Params) => {
        const recorder = recorderNow(on);
        return recorder === null
          ? inStep(target, { params: withoutKey(given).params, method }, options)
          : record(recorder, { model: target, given, method }, options);
      };
    },
  });
}

/** A call inside a step is part of its work: the step records the result, and counts what the call used. */
async function inStep(
  model: ModelId,
  { params, method }: { readonly params: Params; readonly method: Method },
  { quota }: ModelOptions,
): Promise<object> {
  const info = currentStep();
  if (info === undefined) return method(params);
  const permit = await permitIn(info, quota, () => estimateOf(model, params));
  // A permit that cannot be settled ends by its time.
  const over = (used?: Usage, thrown?: unknown): void =>
    void permit?.settle(used === undefined ? undefined : [used], thrown).catch(() => {});
  try {
    const result = await method(params);
    const used = meter(info, model, result);
    const { stream } = result as Partial<StreamResult>;
    if (stream === undefined) {
      over(used);
      return result;
    }
    const counted = new TransformStream<Part, Part>({
      transform: (part, to) => {
        if (part.type === "finish") over(meter(info, model, { usage: {}, ...part }));
        to.enqueue(part);
      },
      flush: () => over(),
    });
    return { ...result, stream: stream.pipeThrough(counted) };
  } catch (error) {
    over(undefined, error);
    throw error;
  }
}

interface Asked {
  readonly model: ModelId;
  readonly given: Params;
  readonly method: Method;
}

type Record = (recorder: Recorder, asked: Asked, options: ModelOptions) => PromiseLike<object>;

function recorderFor(property: PropertyKey, model: object): Record | null {
  if (whole.has(property))
    return (recorder, asked, options) => recordWhole(String(property), recorder, asked, options);
  if (property !== "doStream") return null;
  // Only language models have supportedUrls. The others stream speech, and get a stream, too.
  return "supportedUrls" in model ? recordParts : recordFedStream;
}

function recordWhole(
  property: string,
  recorder: Recorder,
  { model, given, method }: Asked,
  options: ModelOptions,
) {
  const named = callOf(property, model, withoutKey(given), options);
  const { call, ask } = varied(recorder.variant, { call: named, property, ask: method });
  return recordCall(recorder, call, (abortSignal) => ask({ ...call.params, abortSignal }));
}

function recordParts(recorder: Recorder, { model, given, method }: Asked, options: ModelOptions) {
  const named = callOf("doStream", model, withoutKey(given), options);
  const { call, ask } = varied(recorder.variant, { call: named, property: "doStream", ask: method });
  const open = (abortSignal: AbortSignal): PromiseLike<StreamResult> =>
    ask({ ...call.params, abortSignal }) as PromiseLike<StreamResult>;
  return recordStream(recorder, call, open);
}
