/** What undoes a step, as users write it. It runs in `undo.ts`. */

import type { StepInfo } from "./attempts.ts";

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
