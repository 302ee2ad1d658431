/**
 * One call of a model, and the name it is recorded under.
 *
 * N1. A key that the caller gives is the name. It does not reach the provider.
 * N2. Else the name is made of what is asked, so that calls side by side find their own records, in any order.
 * N3. What is different in every process, or says nothing of the question, is no part of it.
 */

import { fingerprint, type RetryOptions } from "@durable/core";
import { plain } from "./plain.ts";

/** Options of `durableModel` and `durableMiddleware`. */
export interface ModelOptions {
  /**
   * How a call without a key of its own finds its record: by its content (the default), or by its position
   * among calls of its kind. By position, calls must be made one after the other.
   */
  readonly match?: "content" | "position" | undefined;
  /** When a failed call is repeated. A `retry-after` of the provider overrides the delay. */
  readonly retry?: RetryOptions | false | undefined;
  /** How fast a recorded stream is replayed; at once by default. */
  readonly pace?: "instant" | "recorded" | undefined;
}

/** The part of a model that this package needs to know. */
export interface ModelId {
  readonly provider?: unknown;
  readonly modelId?: unknown;
}

/** What a model is asked with: different for each kind, and for each version of the SDK. */
export type Params = Readonly<Record<string, unknown>>;

export interface Call {
  readonly name: string;
  readonly model: ModelId;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
  readonly options: ModelOptions;
}

/** Counted up when the same question would be named in another way. */
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
  return { name: key ?? nameOf(kind, model, params, options), model, signal, options };
}

function nameOf(kind: string, model: ModelId, params: Params, options: ModelOptions): string {
  if (options.match === "position") return kind;
  const { abortSignal: _, headers: __, includeRawChunks: ___, ...question } = params;
  const { provider, modelId } = model;
  const asked = byDigest(plain({ version, kind, provider, modelId, question }));
  return `${kind} ${fingerprint(asked, `question of a ${kind} call`)}`;
}

/** Bytes stand in a name by their own: a picture would be hashed with its base64 text else. */
function byDigest(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    // Node's Buffer is a Uint8Array of another name.
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

/** The caller's key, and what is left for the provider. */
export function withoutKey(params: Params): { readonly params: Params; readonly key: string | undefined } {
  const { durable, ...others } = (params["providerOptions"] ?? {}) as Record<string, unknown>;
  if (durable === undefined) return { params, key: undefined };
  const { key } = durable as { readonly key?: string };
  return { params: { ...params, providerOptions: others }, key };
}

/** Aborts with either. */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}
