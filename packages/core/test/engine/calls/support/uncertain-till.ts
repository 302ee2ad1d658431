/** A till that takes money: the effect that must not be repeated, and lives that end around it. */

import { durable, type Context, type OnUncertain, type Outcome, type StepOptions } from "@durable/core";
import { dieAt, runOf, type Flow } from "../../../support/behaviour-lives.ts";
import type { Lab } from "../../../support/behaviour-lab.ts";

export interface Till {
  /** Idempotency keys of the charges it took, in order. */
  readonly charges: string[];
  readonly charge: (info: { readonly idempotencyKey: string; readonly attempt: number }) => string;
}

export function till(): Till {
  const charges: string[] = [];
  return {
    charges,
    charge: ({ idempotencyKey }) => {
      charges.push(idempotencyKey);
      return `receipt ${charges.length}`;
    },
  };
}

/** Charges, then says so: `[receipt, "mailed"]`. */
export function shop(
  { charge }: Till,
  onUncertain: OnUncertain | undefined,
  options: StepOptions = {},
): Flow<string[]> {
  return durable("shop", async (ctx: Context) => [
    await ctx.step("charge", charge, { ...options, onUncertain }),
    await ctx.step("mail", () => "mailed"),
  ]);
}

/** Appends of a shop: what a life may die at. */
export const appends = { started: 1, announced: 2, charged: 3, mailed: 4, completed: 5 };

/** Dies when the charge is taken and nothing of it recorded. */
export function dieCharged(on: Lab, flow: Flow, append = appends.charged): Promise<void> {
  return dieAt(on, flow, append, { fault: "crash-before" });
}

/** Charges, dies, and comes back: what a fresh process finds. */
export async function afterDeath<T>(on: Lab, flow: Flow<T>): Promise<Outcome<T>> {
  await dieCharged(on, flow);
  return runOf(on, flow);
}
