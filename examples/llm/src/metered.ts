/** One call of the AI SDK as the work of a step, which does the retries, because its count survives a crash. */

import type { StepInfo } from "@durable/core";
import type { LanguageModelUsage } from "ai";

interface Answered {
  readonly usage: LanguageModelUsage;
  readonly response: { readonly modelId: string };
}

/** Makes the call with these settings, and records what it used, so that plans of forks can show it. */
export async function metered<A extends Answered>(
  { signal, meter }: Pick<StepInfo, "signal" | "meter">,
  call: (settings: { readonly maxRetries: 0; readonly abortSignal: AbortSignal }) => PromiseLike<A>,
): Promise<A> {
  const answer = await call({ maxRetries: 0, abortSignal: signal });
  const { inputTokens = 0, outputTokens = 0, inputTokenDetails } = answer.usage;
  const { cacheReadTokens: cachedInputTokens, cacheWriteTokens } = inputTokenDetails;
  const model = answer.response.modelId;
  meter({ model, inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens });
  return answer;
}
