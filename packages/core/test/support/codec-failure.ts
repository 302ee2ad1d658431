/** What a call throws, seen as callers see it: by code. */

import { DurableError } from "../../src/values/errors.ts";

/** The error a call throws; fails when it throws none. */
export function failureOf(call: () => unknown): unknown {
  let value: unknown;
  try {
    value = call();
  } catch (error) {
    return error;
  }
  throw new Error(`nothing was thrown; the call gave ${String(value)}`);
}

/** The code of the DurableError a call throws; anything else is shown as it is, so that a test fails on it. */
export function codeOf(call: () => unknown): unknown {
  const error = failureOf(call);
  return DurableError.is(error) ? error.code : error;
}

export function messageOf(call: () => unknown): string {
  const error = failureOf(call);
  return error instanceof Error ? error.message : `not an error: ${String(error)}`;
}
