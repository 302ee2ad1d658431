/** The agent with a fault at every I/O: model and harbour office are fakes, all else is real. */

import { fileURLToPath } from "node:url";
import { crashEverywhere, recorder, scriptedModel, type Recorder } from "@durable/testing";
import { expect, inject, test } from "vitest";
import { createAgent } from "../src/agent.ts";
import { openHarbourOffice } from "../src/harbour-office.ts";
import { readDocuments } from "../src/search.ts";
import { createTools, type AgentTools } from "../src/tools.ts";

const documents = readDocuments(fileURLToPath(new URL("../documents", import.meta.url)));

/** Every tool call leaves a note with its idempotency key. */
function noted(real: AgentTools, desk: Recorder): AgentTools {
  const entries = Object.entries(real).map(([name, tool]): [string, AgentTools[string]] => [
    name,
    {
      ...tool,
      run: (input, info) => {
        desk.record(name, { key: info.idempotencyKey, payload: input });
        return tool.run(input, info);
      },
    },
  ]);
  return Object.fromEntries(entries);
}

test("one answer, whatever happens; and a crash costs one turn or one tool call at most", async () => {
  const office = await openHarbourOffice();
  const desk = recorder();
  const model = scriptedModel([
    { text: "I will look.", calls: [{ tool: "search", input: { query: "full moon" } }] },
    { fail: "overloaded", status: 429, retryAfter: 3_600 },
    {
      calls: [
        { tool: "tide_table", input: { harbour: "Kestrel Cove" } },
        { tool: "calculate", input: { expression: "5.6 - 0.8" } },
      ],
    },
    "4.8 m [spring-and-neap.md]",
  ]);
  const tools = noted(createTools({ documents, harbourOffice: office.url, pace: 1 }), desk);
  try {
    const report = await crashEverywhere(createAgent({ model, tools }), {
      input: "How large is the range?",
      effects: desk,
      reset: model,
      faults: inject("full") ? undefined : ["crash-after"],
    });
    expect(report.calm.outcome).toMatchObject({
      output: { text: "4.8 m [spring-and-neap.md]", sources: ["spring-and-neap.md"] },
    });
    expect(report.calm.ran).toEqual({
      think: 1,
      search: 1,
      "think#2": 2,
      tide_table: 3,
      calculate: 1,
      "think#3": 1,
    });
    // An hour of the provider's, and two pauses before the office answers.
    expect(report.totals.virtualMs).toBeGreaterThan(3_600_000);
    for (const { ran } of report.cases)
      for (const [key, count] of Object.entries(ran))
        expect(count - (report.calm.ran[key] ?? 0), key).toBeLessThanOrEqual(1);
    expect(report.effects).toEqual([]);
  } finally {
    office.close();
  }
});
