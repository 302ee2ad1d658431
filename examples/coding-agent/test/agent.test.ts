/** The search itself, on memory: the model is scripted, and the suite a table. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryStorage, type Workflow } from "@durable/core";
import { lineage } from "@durable/core/inspect";
import { questionOf, scriptedModel, type Script } from "example-llm";
import { afterAll, describe, expect, test } from "vitest";
import { bestOf, createAgent, type Ending, type Verdict } from "../src/agent.ts";
import { createCandidate, type Branch } from "../src/candidate.ts";
import type { Brief } from "../src/plan.ts";
import type { Report } from "../src/sandbox.ts";
import { script, solution } from "../src/script.ts";

const folder = mkdtempSync(join(tmpdir(), "coding-agent-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const failed = (name: string): Report => ({
  passed: 1,
  total: 2,
  failures: [{ name, what: "gave 1, not 2" }],
  stopped: null,
});

interface Search {
  readonly agent: Workflow<string, Ending>;
  readonly candidate: Workflow<Brief, Branch>;
  /** What the model was asked. */
  readonly asked: string[];
}

function search(right: string | null, says: Script = script): Search {
  const asked: string[] = [];
  const model = scriptedModel(
    (prompt) => {
      asked.push(questionOf(prompt));
      return says(prompt);
    },
    { pace: 0 },
  );
  const suite = (code: string): Promise<Report> =>
    Promise.resolve(
      right !== null && code === solution(right)
        ? { passed: 2, total: 2, failures: [], stopped: null }
        : failed(`a test that ${code.length} characters do not pass`),
    );
  const options = { storage: new MemoryStorage() };
  const candidate = createCandidate({ model, scratch: folder, suite }).with(options);
  return { agent: createAgent({ candidate, folder }).with(options), candidate, asked };
}

const plansIn = (asked: readonly string[]): string[] => asked.filter((text) => text.startsWith("Plan "));

describe("the search", () => {
  test("H44 goes back to the plan when none passes; one model call per plan, none by a fork", async () => {
    const { agent, candidate, asked } = search("clamp");
    const outcome = await agent.run("pages", { id: "one" });
    expect(outcome).toMatchObject({
      status: "completed",
      output: { passes: true, rounds: 2, winner: { label: "2.clamp", code: solution("clamp") } },
    });
    const plans = plansIn(asked);
    expect(plans).toHaveLength(2);
    expect(asked).toHaveLength(2 + 5);
    // The second plan gets the failures, by approach.
    expect(plans[0]).not.toContain("went wrong");
    for (const name of ["sort", "scan", "expand"])
      expect(plans[1]).toContain(`- 1.${name}: a test that ${solution(name).length} characters do not pass`);

    const { runs } = await candidate.list();
    const lines = await Promise.all(
      runs.map(async ({ runId }) => lineage(await candidate.get(runId).entries())),
    );
    const named = (label: string | null) => lines.find((line) => line?.label === label);
    expect(lines).toHaveLength(7);
    expect(named("plan-2")).toMatchObject({ parent: named(null)?.runId, from: ["plan"] });
    expect(named("1.scan")).toMatchObject({ parent: named(null)?.runId, after: ["plan"] });
    expect(named("2.clamp")).toMatchObject({ parent: named("plan-2")?.runId, after: ["plan"] });
  });

  test("stops at the first plan that has one that passes", async () => {
    const { agent, asked } = search("scan");
    expect(await agent.run("pages")).toMatchObject({ output: { rounds: 1, winner: { label: "1.scan" } } });
    expect(plansIn(asked)).toHaveLength(1);
  });

  test("gives up after three plans, with the best there was", async () => {
    const { agent, asked } = search(null);
    const outcome = await agent.run("pages");
    expect(outcome).toMatchObject({ output: { passes: false, rounds: 3 } });
    expect(plansIn(asked)).toHaveLength(3);
  });

  test("a candidate the model cannot write has lost, and the others go on", async () => {
    const { agent } = search("clamp", (prompt) => {
      if (questionOf(prompt).includes("Approach: mark")) throw new Error("I will not");
      return script(prompt);
    });
    const outcome = await agent.run("pages");
    expect(outcome).toMatchObject({ output: { passes: true, winner: { label: "2.clamp" } } });
  });

  test("without a plan there is nothing to try: the run fails at once, and says why", async () => {
    const { agent, asked } = search("clamp", () => {
      throw new Error("overloaded");
    });
    const outcome = await agent.run("pages");
    expect(outcome.status === "failed" && outcome.error.message).toContain("overloaded");
    const kinds = (await agent.get(outcome.runId).entries()).map(({ kind }) => kind);
    expect(kinds).toEqual(["run.started", "step.failed", "run.failed"]);
    expect(asked).toHaveLength(3);
  });

  test("names that a model makes up become keys", async () => {
    const { agent, candidate } = search(null, (prompt) => {
      const names = ["Two words", "two/words", "[#]", "fourth"];
      return questionOf(prompt).startsWith("Plan ")
        ? { text: JSON.stringify({ approaches: names.map((name) => ({ name, idea: "" })) }) }
        : { text: "export const pages = 1;" };
    });
    expect(await agent.run("pages")).toMatchObject({ status: "completed" });
    const labels = (await candidate.list()).runs.flatMap(({ label }) =>
      label?.startsWith("1.") ? [label] : [],
    );
    expect(labels.toSorted((a, b) => a.localeCompare(b))).toEqual(["1.two-words", "1.unnamed"]);
  });
});

test("the best passes most tests, then is the shortest, then the first", () => {
  const verdict = (label: string, passed: number, code: string): Verdict => ({
    ...failed(""),
    runId: label,
    label,
    passed,
    code,
  });
  const tried = [verdict("a", 1, ""), verdict("b", 2, "xx"), verdict("c", 2, "x"), verdict("d", 2, "y")];
  expect(bestOf(tried).label).toBe("c");
});
