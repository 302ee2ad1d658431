/**
 * Deadlines: of the whole run, and of one group or child.
 *
 * deadline.1. The deadline of a run ends it as a failure: calls stay pending, work under way is aborted and its results
 *     are dropped. Answers and results that were recorded before it go first.
 * deadline.2. The deadline of a call is a sleep inside its key, so that replay sees it fire where it fired.
 */

import type { World } from "../ports/world.ts";
import { endOfTime, toMs, type Duration } from "../values/duration.ts";
import { DurableError, recordedError } from "../values/errors.ts";
import type { CallEngine } from "./calls/call.ts";
import { sleep } from "./calls/sleep.ts";
import type { Scope } from "./scope.ts";

/** The deadline of a run that begins now, as its first entry has it. */
export function deadlineAt(
  { world }: { readonly world: Pick<World, "now"> },
  deadline: Duration | Date | undefined,
): { readonly deadline?: number } {
  if (deadline === undefined) return {};
  const given = checkedDeadline(deadline, "the run");
  return { deadline: given instanceof Date ? given.getTime() : Math.min(world.now() + given, endOfTime) };
}

/** A deadline of runs: a date, or milliseconds from the start. */
export function checkedDeadline(deadline: Duration | Date, where: string): number | Date {
  // An invalid date is refused as a duration.
  const isDate = deadline instanceof Date && deadline.getTime() >= 0;
  return isDate ? deadline : toMs(deadline as Duration, `The deadline of ${where}`);
}

/** The error of a run that did not end in time. */
export function missedBy(runId: string, endsBy: number): DurableError {
  return new DurableError(
    "deadline",
    `Run ${runId} did not end by its deadline, ${new Date(endsBy).toISOString()}. Continue it with run.retry({ deadline }), or give it more time when it starts.`,
    { details: { deadline: endsBy } },
  );
}

/**
 * Calls `expire` when the deadline of an open call passes; the returned function ends the deadline, because the call has
 * settled.
 */
export function deadlineOf(
  engine: CallEngine,
  place: { readonly scope: Scope; readonly key: string; readonly what: string },
  deadline: Duration | undefined,
  expire: (error: DurableError) => void,
): () => void {
  if (deadline === undefined) return () => {};
  const { key, what } = place;
  const ms = toMs(deadline, `The deadline of ${what}`);
  // No branch has an empty name, so the keys of the workflow cannot meet this one.
  const scope = place.scope.branch(key, "");
  const message = `The ${what} did not end within its deadline of ${ms} ms. Catch this error, or allow more time.`;
  void sleep(engine, { scope, name: "deadline" }, ms, true).then(() =>
    expire(recordedError("deadline", message, { details: { key } })),
  );
  return () => {
    scope.close("closed");
    engine.calls.close(scope.path);
  };
}
