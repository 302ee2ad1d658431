import { expect, test } from "vitest";
import { createApp, MemoryStorage } from "@durable/core";
import { removeEval } from "@durable/evals";
import { createAgent, shop } from "../src/agent.ts";
import { record } from "../src/demo.ts";
import { evaluatePolicy } from "../src/eval.ts";
import { agentModel, judgeModel } from "../src/models.ts";
import { orders } from "../src/orders.ts";

test("the prompt helps 31 conversations and hurts 3; a repeated eval pays nothing; no effect happens", async () => {
  const done: string[] = [];
  const asked = { agent: 0, judge: 0 };
  const agent = createAgent(
    agentModel(() => void (asked.agent += 1)),
    shop((what) => done.push(what)),
  );
  const app = createApp({ workflows: [agent], storage: new MemoryStorage(), bind: false });
  await record(app, agent);
  expect([done.length, asked.agent]).toEqual([80, 80]);
  const judge = judgeModel(() => void (asked.judge += 1));
  const entries = await Promise.all(orders.map(({ id }) => app.get(id).entries()));

  const report = await evaluatePolicy(app, judge);
  const [, policy] = report.variants;
  expect(policy).toMatchObject({ better: 31, worse: 3, same: 6, stopped: 0, failed: 0 });
  expect(report.cases.slice(0, 3).map(({ runId }) => runId)).toEqual([
    "support-32",
    "support-33",
    "support-34",
  ]);
  expect(report.passed).toBe(false);
  expect(asked).toEqual({ agent: 120, judge: 74 });
  expect(report.paid.calls).toBe(114);
  expect(done.length).toBe(80);
  expect(await Promise.all(orders.map(({ id }) => app.get(id).entries()))).toEqual(entries);

  const again = await evaluatePolicy(app, judge);
  expect(JSON.stringify(again)).toBe(JSON.stringify(report));
  expect(asked).toEqual({ agent: 120, judge: 74 });

  // Apart from production, and removed at once.
  expect((await app.list({ limit: 500 })).runs.length).toBe(40);
  expect((await app.spend({ by: "workflow" })).inputTokens).toBeGreaterThan(0);
  expect(await removeEval(app, "state the policy")).toBe(116);
  expect((await app.list({ eval: true })).runs).toEqual([]);
  const production = await app.spend({ by: "workflow" });
  expect(production.rows.map(({ key }) => key)).toEqual(["support"]);
  expect(production.inputTokens).toBe(
    entries
      .flat()
      .reduce((sum, entry) => sum + ("usage" in entry ? (entry.usage?.[0]?.inputTokens ?? 0) : 0), 0),
  );
});
