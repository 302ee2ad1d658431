/** Ends a run from inside of foreign code, where a throw would be caught. Proven in test/exact.test.ts. */

import type { Context } from "@durable/core";

/** What newer versions of core offer. */
interface Failing {
  readonly fail?: (error: unknown) => Promise<never>;
}

/**
 * Fails the run with this error. Without `ctx.fail` the error is left uncaught, and core blocks the run with it. The
 * promise never settles, so that the caller does not go on.
 */
export function endRun(ctx: Context, error: Error): Promise<never> {
  const { fail } = ctx as Context & Failing;
  if (fail !== undefined) return fail.call(ctx, error);
  void Promise.reject(error);
  return new Promise<never>(() => {});
}
