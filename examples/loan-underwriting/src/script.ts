/** The script of the offline model: arithmetic on the facts in the prompt. */

import { questionOf, type Script } from "example-llm";
import { money } from "./describe.ts";
import type { Application, Case, Reviewed } from "./loan.ts";
import type { Comparables, CreditReport } from "./records.ts";

export const script: Script = (prompt) => {
  const [task = "", facts = "{}"] = questionOf(prompt).split("\n");
  const answer = answers[task.split(" ")[0] ?? ""];
  if (answer === undefined) throw new Error(`The script has no answer to: ${task}`);
  return { text: JSON.stringify(answer(JSON.parse(facts) as never)) };
};

const answers: Readonly<Record<string, (facts: never) => object>> = {
  Assess: ({ report }: { report: CreditReport }) => {
    const { score, monthlyIncome, monthlyDebts, latePayments } = report;
    const spare = (monthlyIncome - monthlyDebts) * 12;
    const limit = thousands(spare * (score >= 680 ? 4 : 3));
    const late = latePayments === 1 ? "one late payment" : `${latePayments} late payments`;
    return { limit, summary: `score ${score}, ${late}, ${money(spare)} a year after debts` };
  },
  Value: ({ comparables: { area, sales } }: { comparables: Comparables }) => {
    const prices = sales.map((sale) => sale.price / sale.area).toSorted((a, b) => a - b);
    const middle = prices[Math.floor(prices.length / 2)] ?? 0;
    const value = thousands(middle * area);
    return {
      value,
      summary: `${area} m2 at ${money(Math.round(middle))}, the middle of ${sales.length} sales`,
    };
  },
  Propose: (facts: Case & { reviewed: Reviewed; ceiling: number }) => ({
    amount: facts.ceiling,
    letter: letter(facts.application, facts.ceiling, reasons(facts)),
  }),
};

function letter({ applicant, property, amount }: Application, offer: number, why: string): string {
  const about = `Dear ${applicant}, thank you for your application on ${property}.`;
  if (offer === 0) return `${about} We cannot lend on it: ${why}.`;
  return offer < amount
    ? `${about} Of ${money(amount)} we can lend ${money(offer)}: ${why}.`
    : `${about} We are glad to lend ${money(offer)}.`;
}

/** What limits the offer, with the comments of the reviewer. */
function reasons({ policy, reviewed: { credit, appraisal } }: Case & { reviewed: Reviewed }): string {
  if (!credit.approved) return said("the credit review did not pass", credit.comment);
  if (!appraisal.approved) return said("the appraisal did not pass", appraisal.comment);
  return credit.limit < appraisal.value * policy.share
    ? said(`you can carry ${money(credit.limit)}`, credit.comment)
    : said(
        `our ${policy.name} policy is ${policy.share * 100} % of ${money(appraisal.value)}`,
        appraisal.comment,
      );
}

function said(text: string, comment: string): string {
  return comment === "" ? text : `${text} (${comment})`;
}

function thousands(amount: number): number {
  return Math.round(amount / 1_000) * 1_000;
}
