/** What the provider bills for an answer, to be recorded with it. */

import type { Usage } from "@durable/core";
import type { LanguageModelMiddleware } from "ai";

export type Call = Parameters<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>[0];
export type Stream = Awaited<ReturnType<Call["doStream"]>>["stream"];
type Answer = Awaited<ReturnType<Call["doGenerate"]>>;

export function usedBy({ model }: Call, { usage }: Pick<Answer, "usage">): Usage {
  const { inputTokens, outputTokens } = usage;
  return {
    model: model.modelId,
    provider: model.provider,
    inputTokens: inputTokens.total ?? 0,
    outputTokens: outputTokens.total ?? 0,
  };
}
