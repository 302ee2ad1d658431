/** The loan with a fault at every I/O. */

import { crashEverywhere } from "@durable/testing";
import { scriptedModel } from "example-llm";
import { expect, inject, test } from "vitest";
import { createLoan, policies } from "../src/loan.ts";
import { script } from "../src/script.ts";

test("H10 one decision, whatever happens; and a crash costs one call per branch at most", async () => {
  const loan = createLoan(scriptedModel(script, { pace: 0 }));
  const report = await crashEverywhere(loan, {
    input: {
      application: { applicant: "applicant 4711", property: "14 Mill Lane", amount: 248_000 },
      policy: policies.standard,
    },
    resume: { review: { approved: true } },
    faults: inject("full") ? undefined : ["crash-after", "lose-reply"],
  });
  expect(report.calm.outcome).toMatchObject({ output: { kind: "approve", amount: 248_000 } });
  expect(Object.values(report.calm.ran)).toEqual([1, 1, 1, 1, 1]);
  expect(report.cases.length).toBeGreaterThan(inject("full") ? 30 : 12);
  for (const { ran } of report.cases)
    for (const [key, count] of Object.entries(ran)) expect(count, key).toBeLessThanOrEqual(2);
});
