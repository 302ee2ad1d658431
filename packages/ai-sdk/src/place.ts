/**
 * Where calls are recorded: in the context or journal that the user passes, or, when it is left out, in the run in
 * which the call is made. Proven in test/current-run.test.ts.
 */

import { currentContext, type Context, type Journal } from "@durable/core";

export type Place = Context | Journal;

/** The place for a call that is made now; `null` outside of runs, and inside of steps, whose result is recorded anyway. */
export function placeNow(given: Place | null): Place | null {
  return given ?? currentContext() ?? null;
}

export function isJournal(on: Place): on is Journal {
  return "recordStream" in on;
}

/** Arguments whose first one, the place, may be left out. */
export interface Placed<T, O> {
  readonly on: Place | null;
  readonly what: T;
  readonly options: O | undefined;
}

export function placed<T, O>(args: readonly unknown[]): Placed<T, O> {
  const [on, what, options] = isPlace(args[0]) ? args : [null, ...args];
  return { on, what, options } as Placed<T, O>;
}

/** A context or a journal; no model, provider or set of tools has these fields. */
function isPlace(value: unknown): value is Place {
  if (typeof value !== "object" || value === null) return false;
  return "recordStream" in value || ("runId" in value && "continueAs" in value);
}
