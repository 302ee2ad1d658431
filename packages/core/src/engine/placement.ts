/** Finds calls that are made in the wrong place, from the async context in which they are made. */

import { isWithin } from "../journal/keys.ts";
import { ownerNow } from "../ports/async-context.ts";
import { DurableError } from "../values/errors.ts";
import type { Asked } from "./registry.ts";

/** A ctx belongs to the workflow, not to the work of a step: on replay that work does not run. */
export function assertOutsideSteps(runId: string, what: string): void {
  const owner = ownerNow();
  if (owner === undefined || owner.step === null || owner.runId !== runId) return;
  throw new DurableError(
    "wrong-context",
    `${what} was called inside "${owner.step}" of run ${runId}. A step's work does not run on replay, so it must not use ctx: call a plain function there, or move this call out of the step.`,
    { details: { step: owner.step } },
  );
}

/** What a call of another branch means. An error where its promise could never settle, otherwise a warning. */
export function misplaced(runId: string, { scope, kind, name }: Asked): DurableError | string | null {
  const owner = ownerNow();
  // A branch that has lost goes on until it calls its ctx, and stays there: that is no mistake.
  if (owner === undefined || owner.runId !== runId || isBelow(owner.path, scope.path)) return null;
  const message = `Run ${runId} called ctx.${kind}("${name}") with the ctx of branch "${scope.path}" from ${owner.path === "" ? "the workflow" : `branch "${owner.path}"`}. Use the ctx that the function at hand was given.`;
  return scope.closed ? new DurableError("wrong-context", message, { details: { name } }) : message;
}

function isBelow(path: string, above: string): boolean {
  return above === "" || isWithin(path, above);
}
