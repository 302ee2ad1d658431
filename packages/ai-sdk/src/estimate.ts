/** What a call will use, about, before it is made: for quotas and budgets. */

import type { Usage } from "@durable/core";
import type { ModelId, Params } from "./params.ts";

/** Characters of a text that make about one token. */
const perToken = 4;

/** What the SDK passes beside the question. */
const settings: ReadonlySet<string> = new Set(["abortSignal", "headers", "providerOptions"]);

/** The length of what is asked, and the longest answer that is allowed. An answer without a limit counts as nothing. */
export function estimateOf({ modelId, provider }: ModelId, params: Params): Usage {
  const asked = Object.entries(params).filter(([name]) => !settings.has(name));
  const { maxOutputTokens } = params;
  return {
    model: typeof modelId === "string" ? modelId : "unknown",
    ...(typeof provider === "string" && { provider }),
    inputTokens: Math.ceil(lengthOf(Object.fromEntries(asked)) / perToken),
    outputTokens: Number.isSafeInteger(maxOutputTokens) ? Math.max(0, maxOutputTokens as number) : 0,
  };
}

/** Characters of all texts. The bytes of a file do not say how many tokens it makes, so they do not count. */
function lengthOf(value: unknown, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth > 12 || ArrayBuffer.isView(value)) return 0;
  if ((value as { readonly type?: unknown }).type === "file") return 0;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return parts.reduce<number>((sum, part) => sum + lengthOf(part, depth + 1), 0);
}
