/**
 * The same recording as a middleware, for programs that already wrap their models. Proven in
 * test/matrix.test.ts.
 */

import { DurableError } from "@durable/core";
import {
  callOf,
  checkedModelOptions,
  withoutKey,
  type ModelId,
  type ModelOptions,
  type Params,
} from "./call.ts";
import { recordCall } from "./generate.ts";
import { recorderOf } from "./recorder.ts";
import { recordStream, type StreamResult } from "./stream.ts";
import type { Place } from "./place.ts";

/** Data of a call besides its parameters, which the SDK passes on unchanged. */
interface Aside {
  readonly key: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly abort: AbortController;
}

/**
 * A middleware for `wrapLanguageModel` of the AI SDK 5, 6 and 7, and for `wrapEmbeddingModel` and `wrapImageModel` of 6
 * and 7.
 */
export interface DurableMiddleware {
  readonly specificationVersion: "v3";
  readonly transformParams: <P>(asked: { readonly params: P }) => Promise<P>;
  readonly wrapGenerate: <R>(asked: Asked & { readonly doGenerate: () => PromiseLike<R> }) => Promise<R>;
  readonly wrapEmbed: <R>(asked: Asked & { readonly doEmbed: () => PromiseLike<R> }) => Promise<R>;
  readonly wrapStream: <R>(asked: Asked & { readonly doStream: () => PromiseLike<R> }) => Promise<R>;
}

interface Asked {
  readonly params: unknown;
  readonly model: ModelId;
}

/**
 * Records the calls of a model, as a middleware. Put it first, so that middlewares after it run only when the
 * provider is called.
 */
export function durableMiddleware(on: Place, options: ModelOptions = {}): DurableMiddleware {
  checkedModelOptions(options, "durableMiddleware");
  const recorder = recorderOf(on);
  if (recorder.variant?.model !== undefined || recorder.variant?.prompt !== undefined)
    throw new DurableError(
      "invalid-options",
      "An eval cannot change the model or the prompt of a durableMiddleware, which gets both too late. Use durableModel, or a variant with an app of its own.",
    );
  const asides = new WeakMap<object, Aside>();
  const callFor = (method: string, { params, model }: Asked) => {
    const aside = asides.get(params as object);
    const own = { ...(params as Params), abortSignal: aside?.signal };
    return { call: callOf(method, model, { params: own, key: aside?.key }, options), aside };
  };
  /** The provider got its signal before the step existed, so aborts of the step are forwarded to it. */
  const heard = <R>(aside: Aside | undefined, signal: AbortSignal, work: () => PromiseLike<R>) => {
    const stop = (): void => aside?.abort.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    return work();
  };
  const whole = async <R>(method: string, asked: Asked, work: () => PromiseLike<R>): Promise<R> => {
    const { call, aside } = callFor(method, asked);
    const invoke = (signal: AbortSignal) => heard(aside, signal, work) as PromiseLike<object>;
    return (await recordCall(recorder, call, invoke)) as R;
  };
  return {
    specificationVersion: "v3",
    transformParams: async <P>({ params }: { readonly params: P }) => {
      const asked = withoutKey(params as Params);
      const abort = new AbortController();
      const given = { ...asked.params, abortSignal: abort.signal };
      const signal = asked.params["abortSignal"] as AbortSignal | undefined;
      asides.set(given, { key: asked.key, signal, abort });
      return given as P;
    },
    wrapGenerate: (asked) => whole("doGenerate", asked, asked.doGenerate),
    wrapEmbed: (asked) => whole("doEmbed", asked, asked.doEmbed),
    wrapStream: async <R>(asked: Asked & { readonly doStream: () => PromiseLike<R> }) => {
      const { call, aside } = callFor("doStream", asked);
      const open = (signal: AbortSignal) => heard(aside, signal, asked.doStream) as PromiseLike<StreamResult>;
      return (await recordStream(recorder, call, open)) as R;
    },
  };
}
