/** `ctx.onCancel`: a function that runs when the run is cancelled. */

import { toMs, type Duration } from "../../values/duration.ts";
import { assertOptions } from "../../values/options.ts";
import type { Scope } from "../scope.ts";
import type { Undoable } from "../stop.ts";
import type { CallEngine } from "./call.ts";
import type { StepInfo } from "./info.ts";

/** What a clean-up gets about the cancel. */
export interface Cancelling {
  /** The reason that `cancel` was given. */
  readonly reason?: string;
}

/** Options of `ctx.onCancel`. */
export interface OnCancelOptions {
  /** The name in keys; `onCancel` by default. */
  readonly name?: string | undefined;
  /**
   * How long the clean-up may take; one minute by default. A driver that takes over after a crash gives it the
   * whole time again.
   */
  readonly timeout?: Duration | undefined;
}

const defaultMs = 60_000;

/** Registers a clean-up. The registration is recorded before any work begins that the code starts after it. */
export function onCancel(
  engine: CallEngine,
  scope: Scope,
  fn: Undoable["fn"],
  options: OnCancelOptions,
): void {
  assertOptions(options, "name timeout", "ctx.onCancel");
  const { name = "onCancel", timeout = defaultMs } = options;
  const timeoutMs = toMs(timeout, "The timeout of ctx.onCancel");
  const entered = engine.enter({ scope, kind: "cleanup", name, input: null });
  if (entered === null) return;
  const { key, after, record } = entered;
  engine.undoables.set(key, { fn, timeoutMs });
  if (record === undefined) engine.write({ kind: "cleanup.opened", key, after });
}

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
