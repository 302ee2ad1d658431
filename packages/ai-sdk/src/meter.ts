/**
 * Reports the usage of a call to the step that records it. Every version of the SDK has its own form. Proven
 * in test/usage.test.ts.
 */

import type { StepInfo } from "@durable/core";
import type { ModelId } from "./call.ts";

/** A total, or a total with its parts. */
type Tokens = number | { readonly total?: number; readonly cacheRead?: number; readonly reasoning?: number };

interface Reported {
  readonly inputTokens?: Tokens;
  readonly outputTokens?: Tokens;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
  /** For an embedding. */
  readonly tokens?: number;
}

/** Reports the usage of a result, or of the end of a stream, if it has any. */
export function meter(info: StepInfo, model: ModelId, answer: object): void {
  const { usage } = answer as { readonly usage?: Reported };
  if (typeof usage !== "object" || usage === null) return;
  const input = parts(usage.inputTokens ?? usage.tokens);
  const output = parts(usage.outputTokens);
  const cached = count(usage.cachedInputTokens ?? input.cacheRead);
  const reasoning = count(usage.reasoningTokens ?? output.reasoning);
  info.meter({
    model: nameOf(model.modelId) ?? "unknown",
    provider: nameOf(model.provider) ?? "",
    inputTokens: count(input.total),
    outputTokens: count(output.total),
    ...(cached > 0 ? { cachedInputTokens: cached } : {}),
    ...(reasoning > 0 ? { reasoningTokens: reasoning } : {}),
  });
}

const longestName = 200;

function nameOf(name: unknown): string | undefined {
  return typeof name === "string" && name !== "" ? name.slice(0, longestName) : undefined;
}

function parts(tokens: Tokens | undefined): Exclude<Tokens, number> {
  return typeof tokens === "object" && tokens !== null ? tokens : { total: count(tokens) };
}

/** Anything but a count is ignored, because it must not fail a call that succeeded. */
function count(tokens: unknown): number {
  return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : 0;
}
