/** What undoes a step, as users write it. It runs in `undo.ts`. */

import { DurableError } from "../../values/errors.ts";
import type { Scope } from "../scope.ts";
import type { StepInfo } from "./attempts.ts";
import type { CallEngine } from "./call.ts";

/** What is known about the step that is undone. */
export interface CompensateInfo<T = unknown> extends StepInfo {
  /**
   * `completed`: the work returned `value`. `failed`: it failed for good. `unknown`: it began, and its end was not
   * recorded, so its effect may have happened, or may still happen.
   */
  readonly status: "completed" | "failed" | "unknown";
  /** What the work returned; `undefined` unless it completed. */
  readonly value: T | undefined;
  /** The work that is undone: when it first began, and the idempotency key that it had. */
  readonly started: { readonly at: number; readonly idempotencyKey: string };
}

/** Undoes the effect of a step. It is a step itself: recorded, and tried again when it fails. */
export type Compensate<T = unknown> = (info: CompensateInfo<T>) => unknown;

/** What is undone is not undone again, so a clean-up has no steps with `compensate`. */
export function assertCompensate(engine: CallEngine, scope: Scope, fn: unknown, where: string): void {
  if (!scope.closed) engine.placement.assertCode(`A step with \`compensate\``);
  if (typeof fn === "function") return;
  throw new DurableError(
    "invalid-options",
    `The \`compensate\` of ${where} is not a function, but ${typeof fn}.`,
  );
}
