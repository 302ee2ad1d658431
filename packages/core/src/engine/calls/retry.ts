/** When a failed attempt is retried. Pure: the random number and the time are arguments. */

import { toMs, type Duration } from "../../values/duration.ts";
import { DurableError, FatalError, RetryError, show } from "../../values/errors.ts";
import { limits } from "../../values/limits.ts";
import { assertOptions } from "../../values/options.ts";

/**
 * How often and when a failed attempt is repeated: 3 attempts, delays of 1 s doubling up to 60 s, full jitter
 * by default.
 */
export interface RetryOptions {
  /** Attempts in all, the first included; 3 by default. */
  readonly attempts?: number | undefined;
  /** Delay after the first failure; 1 s by default. */
  readonly delay?: Duration | undefined;
  /** How much each delay grows; 2 by default. */
  readonly factor?: number | undefined;
  /** The longest delay; 60 s by default. */
  readonly maxDelay?: Duration | undefined;
  /** Draws each delay between 0 and its bound (full jitter); true by default. */
  readonly jitter?: boolean | undefined;
  /** Which errors are worth another attempt: when it returns false, the failure is final. All by default. */
  readonly if?: ((error: unknown) => boolean) | undefined;
}

/** Retry options with all defaults filled in, in milliseconds. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly delay: number;
  readonly factor: number;
  readonly maxDelay: number;
  readonly jitter: boolean;
  readonly if?: ((error: unknown) => boolean) | undefined;
}

const known = "attempts delay factor maxDelay jitter if";
let usual: RetryPolicy | undefined;

/** Checks retry options and fills in the defaults. `where` is used in the error message. */
export function retryPolicy(options: RetryOptions | false | undefined, where: string): RetryPolicy {
  // Made once, because most steps have no policy of their own.
  if (options === undefined) return (usual ??= retryPolicy({}, where));
  assertOptions(options || {}, known, `${where}: its retry`);
  const {
    attempts = 3,
    delay = 1_000,
    factor = 2,
    maxDelay = 60_000,
    jitter = true,
    ...rest
  } = options || {};
  const count = options === false ? 1 : attempts;
  const counted = Number.isInteger(count) && count >= 1 && count <= limits.attempts;
  const isRight = counted && typeof factor === "number" && factor >= 1;
  if (!isRight || (rest.if !== undefined && typeof rest.if !== "function")) {
    throw new DurableError(
      "invalid-options",
      `${where} has invalid retry ${show(options)}. Use attempts from 1 to ${limits.attempts}, a factor of at least 1, and a function for \`if\`.`,
    );
  }
  return {
    attempts: count,
    delay: toMs(delay, "retry.delay"),
    factor,
    maxDelay: toMs(maxDelay, "retry.maxDelay"),
    jitter,
    ...rest,
  };
}

/**
 * The time of the next attempt, or `null` when the failure is final. A `RetryError` and a `retry-after`
 * header override the policy's delay.
 */
export function nextAttemptAt(
  policy: RetryPolicy,
  failure: { readonly error: unknown; readonly attempt: number },
  world: { readonly now: number; readonly random: number },
): number | null {
  const { error, attempt } = failure;
  if (attempt >= policy.attempts || readable(() => isFatal(error), false)) return null;
  // A predicate that throws does not decide.
  if (!readable(() => policy.if?.(error) ?? true, true)) return null;
  const asked = readable(() => askedDelay(error, world.now), null);
  if (asked !== null) return world.now + Math.round(asked);
  // The factor can overflow to Infinity, and 0 * Infinity is NaN.
  const growth = Math.min(policy.factor ** (attempt - 1), Number.MAX_VALUE);
  const bound = Math.min(policy.maxDelay, policy.delay * growth);
  return world.now + Math.round(policy.jitter ? bound * world.random : bound);
}

/** A thrown value may have getters that throw; such a value is treated as if it had no hints. */
function readable<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** A value that cannot be recorded will fail again; `isRetryable: false` of a provider is final, too. */
function isFatal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof FatalError || error.name === "FatalError") return true;
  if ((error as { isRetryable?: unknown }).isRetryable === false) return true;
  return (
    DurableError.is(error) &&
    ["not-serializable", "too-large", "too-deep", "limit", "wrong-context", "over-budget"].includes(
      error.code,
    )
  );
}

/** The delay of `RetryError({ after })`, or of a `retry-after` header on the error of a provider. */
function askedDelay(error: unknown, now: number): number | null {
  if (!(error instanceof Error)) return null;
  const { name, after } = error as Error & Record<string, unknown>;
  if (error instanceof RetryError || name === "RetryError") return delayFrom(after, now);
  const sent = headersSent(error);
  const ms = Number(sent?.get("retry-after-ms"));
  if (ms > 0) return Math.min(ms, longestAsked);
  const text = sent?.get("retry-after");
  if (!text) return null;
  const seconds = Number(text);
  const wait = Number.isNaN(seconds) ? Date.parse(text) - now : seconds * 1_000;
  return wait >= 0 ? Math.min(wait, longestAsked) : null;
}

/** How long a service asks its callers to stay away, because there are too many of them; `null` when it does not. */
export function slowedBy(error: unknown, now: number): number | null {
  return readable(() => {
    const { status, statusCode, cause } = Object(error) as Record<string, unknown>;
    if (status !== tooMany && statusCode !== tooMany)
      return cause === undefined ? null : slowedBy(cause, now);
    return askedDelay(error, now) ?? unsaidMs;
  }, null);
}

/** The status of a service that has too many requests, and how long it is left alone when it does not say how long. */
const [tooMany, unsaidMs] = [429, 1_000];

/** A header from outside must not park a run for ever. */
const longestAsked = 86_400_000;

/** An invalid `after` falls back to the policy: throwing here would hide the error of the step. */
function delayFrom(after: unknown, now: number): number | null {
  try {
    const ms = after instanceof Date ? after.getTime() - now : toMs(after as Duration, "RetryError.after");
    return Number.isNaN(ms) ? null : Math.max(0, ms);
  } catch {
    return null;
  }
}

/** The headers of the response that an error, or its cause, is about; `null` when it has none. */
export function headersSent(error: unknown, depth = 0): Headers | null {
  if (typeof error !== "object" || error === null || depth > 8) return null;
  const { responseHeaders, headers, response, cause } = error as Readonly<Record<string, unknown>>;
  const found =
    responseHeaders ?? headers ?? (response as { readonly headers?: unknown } | undefined)?.headers;
  if (found === undefined || found === null) return headersSent(cause, depth + 1);
  try {
    return new Headers(found as HeadersInit);
  } catch {
    return null;
  }
}
