/** What can be said about the calls of a model. */

import {
  clientRetry,
  durableBudget,
  type Budget,
  type BudgetOptions,
  type Context,
  type RetryOptions,
} from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import type { StepQuota } from "@durable/core/types";

/** Options of `durableModel` and `durableProvider`. */
export interface ModelOptions {
  /** When a failed call is repeated; `clientRetry` of core by default. Set `maxRetries: 0` on the client of the model. */
  readonly retry?: RetryOptions | false | undefined;
  /** The model, as prices name it, where its answers do not say. */
  readonly name?: string | undefined;
  /** For what the calls are, in sums of usage: the name of an agent. `generate` and `stream` by default. */
  readonly label?: string | undefined;
  /** The quota of the provider, by its name in `quotas` of the app. A call waits until the quota has room. */
  readonly quota?: StepQuota | undefined;
  /** What the run, or the branch, in which the model is called may spend: `durableBudget` of core, at its first call. */
  readonly budget?: number | BudgetOptions | Budget | undefined;
  /**
   * What happens when the code asks another question than the one that is recorded, because it was changed while the run was under
   * way. `block` (the default) stops the run before anything is asked; `ask` asks, and pays, again.
   */
  readonly onChange?: "block" | "ask" | undefined;
}

/** A misspelt option would be ignored in silence. */
export function checkedOptions(options: ModelOptions, where: string): ModelOptions {
  assertOptions(options, "retry name label quota budget onChange", where);
  return { ...options, retry: options.retry ?? clientRetry };
}

/** Sets the budget of the run, unless `durableBudget` has. */
export function limit(ctx: Context, { budget }: ModelOptions): void {
  if (budget !== undefined && !(typeof budget === "object" && "spent" in budget)) durableBudget(ctx, budget);
}
