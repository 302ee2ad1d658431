/** The answers of reviewers, and how they are written on a command line. */

import { z } from "zod";

const answer = { approved: z.boolean(), comment: z.string().max(500).default("") };
const figure = z.number().int().positive().max(1_000_000_000);

/** The reviewer's own figure replaces the model's. */
export const creditReview = z.strictObject({ ...answer, limit: figure.optional() });
export const appraisalReview = z.strictObject({ ...answer, value: figure.optional() });

export type CreditReview = z.infer<typeof creditReview>;
export type AppraisalReview = z.infer<typeof appraisalReview>;

/** The arguments after the token. */
export interface Said {
  readonly verdict: string | undefined;
  readonly limit?: string | undefined;
  readonly value?: string | undefined;
  readonly comment?: string | undefined;
}

/** The answer to send; the schema of the wait validates it. */
export function answerOf({ verdict, limit, value, comment }: Said): object {
  if (verdict !== "approve" && verdict !== "reject")
    throw new RangeError(`Say approve or reject after the token${verdict ? `, not "${verdict}"` : ""}.`);
  return {
    approved: verdict === "approve",
    ...(comment === undefined ? {} : { comment }),
    ...(limit === undefined ? {} : { limit: amountOf("--limit", limit) }),
    ...(value === undefined ? {} : { value: amountOf("--value", value) }),
  };
}

function amountOf(option: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new RangeError(`${option} is "${text}". Use a whole amount: ${option} 240000.`);
}
