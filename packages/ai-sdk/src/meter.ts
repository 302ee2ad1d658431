/**
 * Reports the usage of a call to the step that records it. Every version of the SDK has its own form. Proven
 * in test/usage.test.ts.
 */

import type { StepInfo, Usage } from "@durable/core";
import { usageOfCounts } from "@durable/core/clients";
import type { ModelId } from "./call.ts";

/** A total, or a total with its parts. */
type Tokens =
  | number
  | {
      readonly total?: number;
      readonly cacheRead?: number;
      readonly cacheWrite?: number;
      readonly reasoning?: number;
    };

type InputParts = Exclude<Tokens, number>;

interface Reported {
  readonly inputTokens?: Tokens;
  readonly outputTokens?: Tokens;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
  /** For an embedding. */
  readonly tokens?: number;
}

/** Reports the usage of a result, or of the end of a stream, if it has any. */
export function meter(info: StepInfo, model: ModelId, answer: object): Usage | undefined {
  const { usage } = answer as { readonly usage?: Reported };
  if (typeof usage !== "object" || usage === null) return undefined;
  const input = withCacheWrites(parts(usage.inputTokens ?? usage.tokens), usage, answer);
  const output = parts(usage.outputTokens);
  const counted = {
    input: input.total,
    output: output.total,
    cached: usage.cachedInputTokens ?? input.cacheRead,
    written: input.cacheWrite,
    reasoning: usage.reasoningTokens ?? output.reasoning,
  };
  const used = usageOfCounts(model.modelId, counted, model.provider ?? "");
  info.meter(used);
  return used;
}

/**
 * Before version 6 the SDK has no field for cache writes. Anthropic's are in its metadata, and its count of input
 * tokens has neither reads nor writes of the cache.
 */
function withCacheWrites(input: InputParts, { cachedInputTokens }: Reported, answer: object): InputParts {
  const { providerMetadata } = answer as {
    readonly providerMetadata?: { readonly anthropic?: { readonly cacheCreationInputTokens?: unknown } };
  };
  const written = count(providerMetadata?.anthropic?.cacheCreationInputTokens);
  if (written === 0 || input.cacheWrite !== undefined) return input;
  return { ...input, total: count(input.total) + count(cachedInputTokens) + written, cacheWrite: written };
}

function parts(tokens: Tokens | undefined): InputParts {
  return typeof tokens === "object" && tokens !== null ? tokens : { total: count(tokens) };
}

/** Anything but a count is ignored, because it must not fail a call that succeeded. */
function count(tokens: unknown): number {
  return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : 0;
}
