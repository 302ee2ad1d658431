/**
 * When a request that a client of a provider made is worth another attempt: as the clients decide themselves, so that the step can
 * do it in their place.
 *
 * client.1. A status decides, wherever the error has it: a request that is wrong, or not allowed, is asked once.
 * client.2. The provider's wishes are followed: its `x-should-retry`, and the delay of its `retry-after` (engine/calls/retry.ts).
 * client.3. An abort of the caller is final.
 */

import { headersSent, type RetryOptions } from "../engine/calls/retry.ts";

/**
 * The retry policy for clients of providers, such as `openai`, `@anthropic-ai/sdk`, `@google/genai`, and for `fetch`: a 400, 401, 403
 * or 404 is asked once; 408, 409, 429, 5xx and lost connections three times, after the `retry-after` of the provider. Set
 * `maxRetries: 0` on the client, because its own attempts would multiply.
 * @example await ctx.step("ask", () => client.responses.create({ model, input }), { retry: clientRetry });
 * @example { retry: { ...clientRetry, attempts: 5 } }
 */
export const clientRetry: RetryOptions = { attempts: 3, if: worthAsking };

/** Below 500. */
const passing: ReadonlySet<number> = new Set([408, 409, 429]);

/** True when the same request may succeed later. */
function worthAsking(error: unknown, depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > 8) return true;
  const { name, status, statusCode, response, cause } = error as Readonly<Record<string, unknown>>;
  // An abort of the step's own time limit is the failure "step-timeout", and worth another attempt.
  if (name === "AbortError" || name === "APIUserAbortError" || isUserAbort(error)) return false;
  const inner = (response ?? {}) as Readonly<Record<string, unknown>>;
  const advice = headersSent(error)?.get("x-should-retry");
  if (advice === "true" || advice === "false") return advice === "true";
  const code = [status, statusCode, inner["status"]].find((one) => typeof one === "number");
  if (code !== undefined) return code >= 500 || passing.has(code) || code < 400;
  return cause === undefined || worthAsking(cause, depth + 1);
}

/** The clients of OpenAI and Anthropic name all their errors "Error". */
function isUserAbort(error: object): boolean {
  return error.constructor?.name === "APIUserAbortError";
}
