/** The report with a fault at every I/O. */

import { crashEverywhere } from "@durable/testing";
import { scriptedModel } from "example-llm";
import { expect, inject, test } from "vitest";
import { report } from "../src/report.ts";
import { script } from "../src/script.ts";

test("H10 one report, whatever happens; a person is never asked under a second token", async () => {
  const tokens = new Map<string, Set<string>>();
  const flow = report({
    model: scriptedModel(script, { pace: 0 }),
    put: async (name, text) => {
      if (!name.endsWith("question.json")) return;
      const asked = tokens.get(name) ?? new Set();
      tokens.set(name, asked.add((JSON.parse(text) as { token: string }).token));
    },
  });
  const { calm, cases } = await crashEverywhere(flow, {
    input: { topic: "the wind" },
    resume: { approve: { approved: true } },
    faults: inject("full") ? undefined : ["crash-after"],
  });
  expect(calm.outcome).toMatchObject({ output: { published: true } });
  expect(calm.ran).toEqual({ plan: 1, ask: 1, draft: 1, publish: 1 });
  expect(cases.length).toBeGreaterThan(inject("full") ? 20 : 4);
  for (const { ran } of cases)
    for (const [key, count] of Object.entries(ran)) expect(count, key).toBeLessThanOrEqual(2);
  expect([...tokens.values()].every(({ size }) => size === 1)).toBe(true);
});
