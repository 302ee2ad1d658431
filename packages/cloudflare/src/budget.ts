/**
 * What one invocation of a Worker may spend. Every request to R2 or a queue counts as a subrequest, of which the
 * free plan has 50, and a queue consumer may run for 15 minutes. A driver hands its run on before either is used
 * up. Proven in test/consumer.test.ts and test/sweep.test.ts.
 */

import { assertOptions } from "@durable/core/storage";
import type { Bucket } from "@durable/core/remote";

/** Options of `createBudget`. */
export interface RequestBudgetOptions {
  /**
   * Requests to bucket and queue after which nothing more begins. Leave some, because work under way is still
   * recorded.
   */
  readonly operations?: number | undefined;
  /** Milliseconds after which nothing more begins. */
  readonly ms?: number | undefined;
}

/** What one invocation of a Worker may spend. */
export interface Budget {
  /** Aborts when the budget is spent: `app.advance(runId, { signal })` then hands over the run. */
  readonly signal: AbortSignal;
  /** Requests so far. */
  readonly operations: number;
  /** The same bucket, with its requests counted. */
  count(bucket: Bucket): Bucket;
  /** Counts a request to something else. */
  spend(): void;
  /** Aborts when only this number of requests is left, or the budget is spent. */
  leaving(operations: number): AbortSignal;
}

/** Creates the budget of one invocation: 40 requests and 10 minutes by default, which fits the free plan. */
export function createBudget(options: RequestBudgetOptions = {}): Budget {
  assertOptions(options, "operations ms", "createBudget");
  const { operations = 40, ms = 600_000 } = options;
  const spent = new AbortController();
  const signal = AbortSignal.any([spent.signal, AbortSignal.timeout(ms)]);
  let count = 0;
  const leaving: { readonly at: number; readonly abort: AbortController }[] = [];
  const look = (): void => {
    for (const { at, abort } of leaving) if (count >= at) abort.abort();
    if (count >= operations) spent.abort();
  };
  const note = (): void => {
    count += 1;
    look();
  };
  return {
    signal,
    get operations() {
      return count;
    },
    spend: note,
    leaving: (left) => {
      const abort = new AbortController();
      leaving.push({ at: operations - left, abort });
      look();
      return AbortSignal.any([signal, abort.signal]);
    },
    count: (bucket) => ({
      get: (key) => (note(), bucket.get(key)),
      create: (key, text) => (note(), bucket.create(key, text)),
      put: (key, text) => (note(), bucket.put(key, text)),
      list: (query) => (note(), bucket.list(query)),
      delete: (keys) => (note(), bucket.delete(keys)),
    }),
  };
}
