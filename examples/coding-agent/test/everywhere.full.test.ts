/** The agent and its forks with a fault at every I/O: one process after another, on one storage. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Storage } from "@durable/core";
import { crashEverywhere } from "@durable/testing";
import { questionOf, scriptedModel } from "example-llm";
import { afterAll, expect, inject, test } from "vitest";
import { createAgent } from "../src/agent.ts";
import { createCandidate } from "../src/candidate.ts";
import type { Report } from "../src/sandbox.ts";
import { script, solution } from "../src/script.ts";

const full = inject("full");
const folder = mkdtempSync(join(tmpdir(), "coding-agent-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One approach per plan: the first loses, the second wins. */
const model = (asked: () => void) =>
  scriptedModel(
    (prompt) => {
      const question = questionOf(prompt);
      if (!question.startsWith("Plan ")) return script(prompt);
      asked();
      const name = question.includes("went wrong") ? "clamp" : "sort";
      return { text: JSON.stringify({ approaches: [{ name, idea: "" }] }) };
    },
    { pace: 0 },
  );

const suite = (code: string): Promise<Report> =>
  Promise.resolve({
    passed: code === solution("clamp") ? 1 : 0,
    total: 1,
    failures: [{ name: "order", what: "gave 1, not 2" }],
    stopped: null,
  });

test("H44 forks made inside steps are made once, and one wins, whatever happens", async () => {
  /** What one history asked the model for, and where it is recorded. */
  const histories: { plans: number; storage: Storage }[] = [];
  const report = await crashEverywhere(
    ({ storage, world, number }) => {
      const history = number === 1 ? { plans: 0, storage } : (histories.pop() as (typeof histories)[number]);
      histories.push(Object.assign(history, { storage }));
      const asking = model(() => (history.plans += 1));
      const candidate = createCandidate({ model: asking, scratch: folder, suite }).with({ storage, world });
      return createAgent({ candidate, folder });
    },
    { input: "pages", faults: full ? ["crash-before", "crash-after"] : ["crash-before"] },
  );
  expect(report.calm.outcome).toMatchObject({ output: { rounds: 2, winner: { label: "2.clamp" } } });
  expect(report.cases.length).toBeGreaterThan(full ? 50 : 25);
  // Where nothing was asked, a finished journal was replayed, to see whether it comes to the same end.
  const lived = histories.filter(({ plans }) => plans > 0);
  expect(lived).toHaveLength(report.cases.length + 1);
  for (const { plans, storage } of lived) {
    const { runs } = await storage.list({ workflow: "candidate", limit: 100 });
    expect(runs.map(({ label }) => label ?? "plan-1").toSorted((a, b) => a.localeCompare(b))).toEqual([
      "1.sort",
      "2.clamp",
      "plan-1",
      "plan-2",
    ]);
    // Two plans; one more where the process died before the record of one of them.
    expect(plans).toBeLessThanOrEqual(3);
  }
  expect(lived.filter(({ plans }) => plans === 3)).toHaveLength(2);
});
