/** Limits of the services that steps call. The implementation is in runs/permits.ts, and loaded by programs that use one. */

import type { Usage } from "../journal/usage.ts";
import type { Duration } from "../values/duration.ts";

/** What a service takes, over all processes on the storage. */
export interface LimitOptions {
  /** Calls within any time of the length `per`. */
  readonly requests?: number | undefined;
  /** Tokens within any time of the length `per`: estimated when a step begins, corrected by what it metered. */
  readonly tokens?: number | undefined;
  /** The length of the window; "1 minute" by default. */
  readonly per?: Duration | undefined;
  /** Calls at the same time. */
  readonly concurrent?: number | undefined;
}

/** The limit that a step is under, and how many tokens it may use; by default as many as such steps used lately. */
export type StepLimit = string | { readonly name: string; readonly tokens?: number | undefined };

/** The right to call a service once. */
export interface Permit {
  /** The call is over, and has used this. */
  settle(usage: readonly Usage[] | undefined): Promise<void>;
}

/** Waits for a permit; `null` when the step need not wait any longer. */
export type Permits = (limit: StepLimit, where: string, isOver: () => boolean) => Promise<Permit | null>;
