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

import type { Budget, BudgetOptions, RetryOptions } from "@durable/core";
import { assertOptions, fingerprint } from "@durable/core/storage";
import type { StepQuota } from "@durable/core/types";
import type { ModelId, Params } from "./params.ts";
import { promptHash } from "./prompt-hash.ts";
import { asked, questionOf, type Question } from "./question.ts";

export type { ModelId, Params } from "./params.ts";

/** Options of `durableModel` and `durableMiddleware`. */
export interface ModelOptions {
  /**
   * How a call without a key of its own finds its record: by its content (the default), or by its position
   * among calls of its kind. By position, calls must be made one after the other.
   */
  readonly match?: "content" | "position" | undefined;
  /**
   * What happens when the code asks another question than the one that is recorded, because a prompt, a tool or a
   * setting was changed while the run was under way. `block` (the default) stops the run before anything is asked, and
   * names the difference. By default, a system prompt that differs alone, under the same version of the code, keeps its answer; `keep` takes the recorded answer; `ask` asks, and pays, again. In a journal without a
   * workflow a changed question is always asked.
   */
  readonly onChange?: "block" | "keep" | "ask" | undefined;
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
  /**
   * For what the calls are, in sums of many (`app.spend`): the name of an agent. By default what is asked of the model:
   * `generate`, `stream`, `embed`.
   */
  readonly label?: string | undefined;
  /**
   * The quota of the provider, by its name in `quotas` of the app. A call waits until the quota has room; inside of a step
   * that has a permit of the same quota it takes no second one.
   */
  readonly quota?: StepQuota | undefined;
  /**
   * What the run, or the branch, in which the model is called may spend: `durableBudget` of core, at its first call. In the work of a
   * step it does nothing, because a step counts as one call.
   */
  readonly budget?: number | BudgetOptions | Budget | undefined;
}

/** A misspelt option would be ignored in silence. */
export function checkedModelOptions(options: ModelOptions | undefined, where: string): ModelOptions {
  assertOptions(options, "match onChange retry retryAfterPartial pace label quota budget", where);
  return options ?? {};
}

export interface Call {
  readonly name: string;
  /** For what it is, in sums of usage. */
  readonly label: string | undefined;
  /** The name was made from the question. */
  readonly hashed: boolean;
  readonly model: ModelId;
  readonly params: Params;
  /** The parts of the question. Made on first use, because a recorded call does not need them. */
  readonly question: () => Question;
  /** The caller's signal. */
  readonly signal: AbortSignal | undefined;
  /** The question ends with results of tools: the SDK has shown text of a turn before. */
  readonly isLaterTurn: boolean;
  readonly options: ModelOptions;
  /** True when its input is a stream; see fed-stream.ts. */
  readonly fed?: boolean;
}

/** Increased when the same request would get another name. */
const version = 3;

export function callOf(
  method: string,
  model: ModelId,
  { params, key }: { readonly params: Params; readonly key: string | undefined },
  options: ModelOptions,
): Call {
  const signal = params["abortSignal"] as AbortSignal | undefined;
  const kind = method.slice(2).toLowerCase();
  const hashed = key === undefined && options.match !== "position";
  const name = hashed ? nameOf(kind, model, params) : (key ?? kind);
  const prompt = params["prompt"];
  const last = (Array.isArray(prompt) ? prompt.at(-1) : undefined) as { readonly role?: unknown } | undefined;
  let question: Question | null = null;
  return {
    name,
    label: options.label ?? (hashed ? kind : undefined),
    hashed,
    model,
    params,
    signal,
    isLaterTurn: last?.role === "tool",
    options,
    question: () => (question ??= questionOf(model, params)),
  };
}

/** Settings and tools are hashed by themselves, because they are the same in every turn of a conversation. */
function nameOf(kind: string, { provider, modelId }: ModelId, params: Params): string {
  const { prompt, ...others } = asked(params);
  const messages = Array.isArray(prompt) ? prompt : [prompt];
  const parts = [promptHash([{ version, kind, provider, modelId, others }]), promptHash(messages)];
  return `${kind} ${fingerprint(parts, `question of a ${kind} call`)}`;
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
