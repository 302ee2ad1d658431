/**
 * A loan: two independent branches, each with a model's work and a person's review; then the decision.
 *
 * U1. A branch waits only for its own reviewer; answers may come in either order, at any time, from any
 *     process.
 * U2. A model only proposes. What people and the policy allow is a ceiling in code, which no model can raise.
 * U3. Only `decide` uses the policy, so a fork of the decision may change it.
 */

import { durable, parallel, type StepInfo, type Workflow } from "@durable/core";
import type { LanguageModel } from "ai";
import { z } from "zod";
import { ask } from "./ask.ts";
import { bureau, register } from "./records.ts";
import { appraisalReview, creditReview, type AppraisalReview, type CreditReview } from "./reviews.ts";

export interface Application {
  readonly applicant: string;
  readonly property: string;
  readonly amount: number;
}

export interface Policy {
  readonly name: string;
  /** The share of the property's value that may be lent. */
  readonly share: number;
}

export interface Case {
  readonly application: Application;
  readonly policy: Policy;
}

export const policies = {
  standard: { name: "standard", share: 0.85 },
  cautious: { name: "cautious", share: 0.75 },
} as const satisfies Record<string, Policy>;

const figure = z.number().int().nonnegative();
const assessment = z.object({ limit: figure, summary: z.string() });
const valuation = z.object({ value: figure, summary: z.string() });
const proposal = z.object({ amount: figure, letter: z.string() });

export interface Decision {
  readonly kind: "approve" | "counter-offer" | "decline";
  readonly amount: number;
  readonly letter: string;
}

export function createLoan(model: LanguageModel): Workflow<Case, Decision> {
  return durable("loan-underwriting", async (ctx, { application, policy }: Case) => {
    const reviewed = await parallel(ctx, {
      credit: async (c) => {
        const report = await c.step("pull", () => bureau(application.applicant));
        const memo = await c.step("assess", assess(model, { application, report }), thinking(assessment));
        const review = await c.suspend("review", { schema: creditReview, note: { ...memo, report } });
        return { ...review, limit: review.limit ?? memo.limit };
      },
      appraisal: async (c) => {
        const comparables = await c.step("search", () => register(application.property));
        const memo = await c.step("value", value(model, { application, comparables }), thinking(valuation));
        const review = await c.suspend("review", { schema: appraisalReview, note: { ...memo, comparables } });
        return { ...review, value: review.value ?? memo.value };
      },
    });
    return ctx.step("decide", (info) => decide(model, { application, policy, reviewed }, info), limits);
  });
}

const limits = { timeout: "2m" } as const;
const thinking = <S extends z.ZodType>(schema: S) => ({ ...limits, schema });

type Work = (info: StepInfo) => Promise<unknown>;

function assess(model: LanguageModel, facts: object): Work {
  const task = "Assess the credit of the applicant: the highest amount they can carry, and why.";
  return (info) => ask(model, { task, facts, schema: assessment }, info);
}

function value(model: LanguageModel, facts: object): Work {
  const task = "Value the property from comparable sales, and say how.";
  return (info) => ask(model, { task, facts, schema: valuation }, info);
}

export interface Reviewed {
  readonly credit: CreditReview & { readonly limit: number };
  readonly appraisal: AppraisalReview & { readonly value: number };
}

async function decide(
  model: LanguageModel,
  facts: Case & { readonly reviewed: Reviewed },
  info: StepInfo,
): Promise<Decision> {
  const ceiling = ceilingOf(facts);
  const task = "Propose the amount to lend, at most the ceiling, and write the letter to the applicant.";
  const proposed = await ask(model, { task, facts: { ...facts, ceiling }, schema: proposal }, info);
  const amount = Math.min(proposed.amount, ceiling);
  const kind = amount === 0 ? "decline" : amount < facts.application.amount ? "counter-offer" : "approve";
  return { kind, amount, letter: proposed.letter };
}

/** The ceiling of reviewers and policy, in thousands; 0 if one of them rejected. */
export function ceilingOf({
  application,
  policy,
  reviewed: { credit, appraisal },
}: Case & { readonly reviewed: Reviewed }): number {
  if (!credit.approved || !appraisal.approved) return 0;
  const most = Math.min(application.amount, credit.limit, appraisal.value * policy.share);
  return Math.floor(most / 1_000) * 1_000;
}
