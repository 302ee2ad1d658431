/**
 * One branch of the search: a plan, the code of one approach, and the result of the tests. A branch without
 * an approach stops at the plan; candidates are forks of it, which find the plan in the journal.
 */

import { join } from "node:path";
import { durable, type Workflow } from "@durable/core";
import type { LanguageModel } from "ai";
import { implement, makePlan, plan, type Brief, type Plan } from "./plan.ts";
import { runSuite, type Report } from "./sandbox.ts";

export interface CandidateParts {
  readonly model: LanguageModel;
  /** Where the code is written to be run. */
  readonly scratch: string;
  /** Runs code against the tests. */
  readonly suite?: typeof runSuite;
}

export interface Branch {
  readonly plan: Plan;
  readonly tried: { readonly code: string; readonly report: Report } | null;
}

export function createCandidate({
  model,
  scratch,
  suite = runSuite,
}: CandidateParts): Workflow<Brief, Branch> {
  return durable("candidate", async (ctx, brief: Brief) => {
    const made = await ctx.step("plan", (info) => makePlan(model, brief, info), {
      schema: plan,
      timeout: "2m",
    });
    if (brief.approach === null) return { plan: made, tried: null };
    const code = await ctx.step("implement", (info) => implement(model, brief, info), { timeout: "2m" });
    const folder = join(scratch, ctx.runId);
    const report = await ctx.step("test", ({ signal }) => suite(code, folder, { signal }));
    return { plan: made, tried: { code, report } };
  });
}

/** The label of a branch: `plan-2`, or `2.clamp` for a candidate of that plan. */
export function labelOf({ round, approach }: Brief): string {
  return approach === null ? `plan-${round}` : `${round}.${approach.name}`;
}
