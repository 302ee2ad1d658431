/** Options of budgets, and what the engine, its calls and the runs below a run need of them. */

import type { TreeBudget } from "../journal/entry.ts";
import { DurableError, show } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";
import type { SchemaResult, StandardSchema } from "../values/schema.ts";
import type { Scope } from "./scope.ts";

/** What may be spent, in the currency of the `prices` of the app, and what happens then. */
export interface BudgetOptions {
  readonly most: number;
  /**
   * Before a call that would pass the limit: `suspend` (the default) asks a person, who raises it or ends the run; `fail` ends the
   * run, or in a branch the call, with code `over-budget`; a function returns the new limit, or `false` to fail.
   */
  readonly onLimit?:
    | "suspend"
    | "fail"
    | ((over: OverBudget) => number | false | Promise<number | false>)
    | undefined;
  /** From what sum on the hook `onBudget` is called, a line is logged, and a run without a report gets one; 80 % by default. */
  readonly warnAt?: number | undefined;
  /** All runs below this one, children and spawned ones, spend from it, too. Needs a storage that keeps limits. */
  readonly tree?: boolean | undefined;
}

/** A budget that the next call would pass. */
export interface OverBudget {
  readonly runId: string;
  readonly spent: number;
  readonly most: number;
  /** What the next call costs, about; 0 when nothing is known about it. */
  readonly next: number;
  /** For what the run itself has spent most. */
  readonly by: readonly { readonly label: string; readonly model: string; readonly cost: number }[];
}

/** The budget of a run, or of a branch of it: what `durableBudget` returns. */
export interface Budget {
  /** What was spent so far, with what is not known as it was estimated. */
  readonly spent: number;
  /** The limit, with what was added to it. */
  readonly most: number;
}

/** The sums of the budgets of trees, over all processes. */
export interface TreeLedger {
  /** Reserves `next` for a call, unless that would pass the limit. */
  take(
    tree: TreeBudget,
    call: TreeCall,
    next: number,
    known: TreeKnown,
  ): Promise<{ readonly spent: number; readonly most: number; readonly granted: boolean }>;
  /** The call has cost this; `null` when it was not made. */
  settle(tree: TreeBudget, call: TreeCall, cost: number | null): Promise<void>;
}

/** What the journal of a run says of a tree. */
export interface TreeKnown {
  /** What people have added, by wait. */
  readonly raises: Readonly<Record<string, number>>;
  /** The sum of what the run itself has used. */
  readonly own: number;
}

/** One attempt of a call: `token` tells it from an attempt that another life has begun. */
export interface TreeCall {
  readonly id: string;
  readonly token: string;
}

/** A call that is checked. */
export interface Checked {
  readonly key: string;
  /** For people: what it does. */
  readonly label: string;
  readonly token: string;
  /** Checks it again, now or at a time. */
  again(at: number): void;
}

/** A budget, as calls ask it. */
export interface ScopeBudget extends Budget {
  readonly tree: TreeBudget | null;
  /** True when the call may be made. Otherwise it is checked again later, or never. */
  admit(call: Checked, next: number): Promise<boolean>;
  /** The call has ended, or is not made. */
  settle(call: Pick<Checked, "key" | "token">, cost: number | null): Promise<void>;
}

/** The budgets of one execution, by scope. */
export interface BudgetsOfRun {
  /** The same options, given again, are the same budget. */
  add(scope: Scope, given: number | BudgetOptions, tree?: TreeBudget): Budget;
  /** The budgets that a call in this scope spends from. */
  over(scope: Scope): readonly ScopeBudget[];
  /** The budgets that runs below a call in this scope spend from. */
  trees(scope: Scope): TreeBudget[];
}

export function checkedBudget(given: number | BudgetOptions, where: string): BudgetOptions {
  const budget = typeof given === "number" ? { most: given } : given;
  assertOptions(budget, "most onLimit warnAt tree", `The budget of ${where}`);
  const { most, onLimit = "suspend", warnAt = 0 } = budget;
  if (!isAmount(most) || !isAmount(warnAt))
    throw invalid(`The budget of ${where} is ${show(budget)}. Pass what may be spent: { most: 5 }.`);
  if (onLimit !== "suspend" && onLimit !== "fail" && typeof onLimit !== "function")
    throw invalid(
      `The budget of ${where} has onLimit ${show(onLimit)}. Use "suspend", "fail" or a function.`,
    );
  return budget;
}

/** True when a call of this cost may be made. */
export function fits(spent: number, next: number, most: number): boolean {
  return spent < most && spent + next <= most;
}

export function invalid(message: string): DurableError {
  return new DurableError("invalid-options", message);
}

/** How much an answer adds; 0 when it ends the run. */
export function moreOf(value: unknown): number {
  const { more } = Object(value) as { readonly more?: unknown };
  return isAmount(more) ? more : 0;
}

const form = {
  type: "object",
  properties: { more: { type: "number", minimum: 0, title: "How much more may be spent; 0 ends the run" } },
  required: ["more"],
};

/** Checks the answer to the question of a budget. */
export const answerSchema: StandardSchema = {
  "~standard": {
    version: 1,
    vendor: "durable",
    validate: (value): SchemaResult<unknown> => {
      const { more } = Object(value) as { readonly more?: unknown };
      return isAmount(more)
        ? { value: { more } }
        : { issues: [{ message: "Answer { more: 5 }; { more: 0 } ends the run." }] };
    },
    jsonSchema: { input: () => form },
  },
};

function isAmount(amount: unknown): amount is number {
  return Number.isFinite(amount) && (amount as number) >= 0;
}
