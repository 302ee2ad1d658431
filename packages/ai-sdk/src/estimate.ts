/** What a call will use, about, before it is made: for quotas and budgets. */

import type { Usage } from "@durable/core";
import { tokensIn } from "@durable/core/clients";
import type { ModelId, Params } from "./params.ts";

/** What the SDK passes beside the question. */
const settings: ReadonlySet<string> = new Set(["abortSignal", "headers", "providerOptions"]);

/** The length of what is asked, and the longest answer that is allowed. An answer without a limit counts as nothing. */
export function estimateOf({ modelId, provider }: ModelId, params: Params): Usage {
  const asked = Object.entries(params).filter(([name]) => !settings.has(name));
  const { maxOutputTokens } = params;
  return {
    model: typeof modelId === "string" ? modelId : "unknown",
    ...(typeof provider === "string" && { provider }),
    inputTokens: tokensIn(Object.fromEntries(asked)),
    outputTokens: Number.isSafeInteger(maxOutputTokens) ? Math.max(0, maxOutputTokens as number) : 0,
  };
}
