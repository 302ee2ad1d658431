/**
 * One call of a model, and the name it is recorded under.
 *
 * N1. If the caller gives a key, it is the name. It is not sent to the provider.
 * N2. Otherwise the name is a hash of the request, so that concurrent calls find their own records, in any
 *     order.
 * N3. Parts that differ in every process, or do not belong to the question, are left out of the hash.
 *
 * Proven in test/names.test.ts.
 */

import { fingerprint, type RetryOptions } from "@durable/core";
import { plain } from "./plain-data.ts";

/** Options of `durableModel` and `durableMiddleware`. */
export interface ModelOptions {
  /**
   * How a call without a key of its own finds its record: by its content (the default), or by its position
   * among calls of its kind. By position, calls must be made one after the other.
   */
  readonly match?: "content" | "position" | undefined;
  /** When a failed call is repeated. A `retry-after` of the provider overrides the delay. */
  readonly retry?: RetryOptions | false | undefined;
  /**
   * A stream that breaks off after its first words is asked again, too. The SDK cannot take words back, so its caller
   * gets the parts when the attempt is complete; readers of `run.stream` get them as they come, and a reset. False by
   * default.
   */
  readonly retryAfterPartial?: boolean | undefined;
  /** How fast a recorded stream is replayed; at once by default. */
  readonly pace?: "instant" | "recorded" | undefined;
}

/** The part of a model that this package needs to know. */
export interface ModelId {
  readonly provider?: unknown;
  readonly modelId?: unknown;
}

/** The parameters of a call, which differ by kind of model and version of the SDK. */
export type Params = Readonly<Record<string, unknown>>;

export interface Call {
  readonly name: string;
  readonly model: ModelId;
  /** The caller's signal. */
  readonly signal: AbortSignal | undefined;
  /** The question ends with results of tools: the SDK has shown text of a turn before. */
  readonly isLaterTurn: boolean;
  readonly options: ModelOptions;
}

/** Increased when the same request would get another name. */
const version = 1;

export function callOf(
  method: string,
  model: ModelId,
  asked: { readonly params: Params; readonly key: string | undefined },
  options: ModelOptions,
): Call {
  const { params, key } = asked;
  const signal = params["abortSignal"] as AbortSignal | undefined;
  const kind = method.slice(2).toLowerCase();
  const prompt = params["prompt"];
  const last = (Array.isArray(prompt) ? prompt.at(-1) : undefined) as { readonly role?: unknown } | undefined;
  const isLaterTurn = last?.role === "tool";
  return { name: key ?? nameOf(kind, model, params, options), model, signal, isLaterTurn, options };
}

function nameOf(kind: string, model: ModelId, params: Params, options: ModelOptions): string {
  if (options.match === "position") return kind;
  const { abortSignal: _, headers: __, includeRawChunks: ___, ...question } = params;
  const { provider, modelId } = model;
  const asked = byDigest(plain({ version, kind, provider, modelId, question }));
  return `${kind} ${fingerprint(asked, `question of a ${kind} call`)}`;
}

/** Bytes are hashed by themselves; otherwise an image would be hashed as base64 text. */
function byDigest(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    // Node's Buffer is a Uint8Array subclass.
    return fingerprint(
      new Uint8Array(value.buffer, value.byteOffset, value.byteLength),
      "bytes of a question",
    );
  }
  if (Array.isArray(value)) return value.map(byDigest);
  if (typeof value !== "object" || value === null || value instanceof Date || value instanceof URL)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, byDigest(field)]));
}

/** The caller's key, and the parameters for the provider. */
export function withoutKey(params: Params): { readonly params: Params; readonly key: string | undefined } {
  const { durable, ...others } = (params["providerOptions"] ?? {}) as Record<string, unknown>;
  if (durable === undefined) return { params, key: undefined };
  const { key } = durable as { readonly key?: string };
  return { params: { ...params, providerOptions: others }, key };
}

/** A signal that aborts with any of these. */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  // A signal that a replay has aborted is not aborted for the runtime.
  const aborted = signals.find((signal) => signal?.aborted === true);
  if (aborted !== undefined) return AbortSignal.abort(aborted.reason);
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}
