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

/** Adds `null` to arguments whose first one, the place, was left out. */
export function withPlace<A extends readonly unknown[]>(
  args: readonly unknown[],
): readonly [Place | null, ...A] {
  return (isPlace(args[0]) ? args : [null, ...args]) as readonly [Place | null, ...A];
}

/** A context or a journal; no model, provider or set of tools has these fields. */
function isPlace(value: unknown): value is Place {
  if (typeof value !== "object" || value === null) return false;
  return "recordStream" in value || ("runId" in value && "continueAs" in value);
}
