/** What a step says about attempts whose outcome is unknown. */

/** What is known about an attempt that began and whose end was not recorded. */
export interface Uncertain {
  readonly key: string;
  readonly attempt: number;
  /** When it began, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** The key that the work passed to the service: use it to ask that service. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/**
 * The answer about an uncertain attempt: it completed with this value, it is to be repeated, or it failed.
 */
export type Resolution =
  | { readonly status: "completed"; readonly value?: unknown }
  | { readonly status: "retry" }
  | { readonly status: "failed"; readonly message: string };

/**
 * After a crash in the middle of an attempt: `retry` runs the work again, `suspend` asks a person (the answer
 * is a `Resolution`), a function finds out by itself.
 */
export type OnUncertain = "retry" | "suspend" | ((uncertain: Uncertain) => Resolution | Promise<Resolution>);
