/** Forks that are killed and go on, and time, which does not pass in them. */

import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { durableModel, durableTools } from "@durable/ai-sdk";
import { forkForEval } from "@durable/core/storage";
import { scriptedModel, type ModelTurn } from "@durable/testing";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { expect, test } from "vitest";
import { evaluate } from "../src/index.ts";
import { systemOf } from "./support/world.ts";

/** An agent that pays twice with equal arguments, may sleep for a day, and says what it has paid. */
function payer(sleeps = false) {
  const paid: string[] = [];
  let [id, asked] = [0, 0];
  let onTurn = (_turn: number): void => {};
  const model = scriptedModel((_, call): ModelTurn => {
    asked += 1;
    if (systemOf(call) === "new") onTurn(call.turn);
    if (call.turn < 3) return { calls: [{ tool: "pay", id: `call-${++id}`, input: { cents: 10 } }] };
    return call.toolResults.map(({ value }) => String(value)).join(", ");
  });
  const tools = {
    pay: tool({
      description: "Pays.",
      inputSchema: jsonSchema<{ cents: number }>({
        type: "object",
        properties: { cents: { type: "number" } },
      }),
      execute: () => {
        paid.push(`receipt ${paid.length + 1}`);
        return paid.at(-1);
      },
    }),
  };
  const flow = durable("payer", async (ctx: Context) => {
    const { text } = await generateText({
      model: durableModel(ctx, model),
      tools: durableTools(ctx, tools),
      stopWhen: stepCountIs(4),
      system: "old",
      prompt: "pay",
    });
    if (sleeps) await ctx.sleep("1 day");
    return `paid: ${text}`;
  });
  const secret = "0123456789abcdef-eval";
  const app = createApp({ workflows: [flow], storage: new MemoryStorage(), bind: false, secret });
  return {
    app,
    flow,
    paid,
    asked: () => asked,
    listen: (to: (turn: number) => void) => void (onTurn = to),
  };
}

const options = {
  name: "pay",
  runs: ["r"],
  from: { turn: 1 },
  variants: [{ name: "v", prompt: "new" }],
  score: { said: () => 1 },
};

test("a sleep of a day ends at once", async () => {
  const { app, flow } = payer(true);
  expect((await app.run(flow, undefined, { id: "r" })).status).toBe("suspended");
  const report = await evaluate(app, options);
  expect(report.variants[1]).toMatchObject({ n: 1, stopped: 0 });
  const [end] = (await app.get(report.cases[0]!.forkId).entries()).slice(-1);
  expect(end).toMatchObject({ kind: "run.completed", output: "paid: receipt 1, receipt 2" });
}, 20_000);

test("an eval that is repeated finds its forks, and asks nothing again", async () => {
  const { app, flow, asked } = payer();
  await app.run(flow, undefined, { id: "r" });
  await evaluate(app, options);
  const before = asked();
  // Another list of variants is another eval, and has a fork in common with the first.
  const both = [...options.variants, { name: "w", prompt: "other" }];
  const report = await evaluate(app, { ...options, variants: both });
  expect(asked() - before).toBe(3);
  const forks = (await app.list({ eval: "pay", parent: "r" })).runs.map(({ runId }) => runId);
  expect(forks.toSorted()).toEqual(report.cases.map(({ forkId }) => forkId).toSorted());
});

test("a killed fork waits for its eval, and goes on behind what it was answered", async () => {
  const { app, flow, paid, asked, listen } = payer();
  await app.run(flow, undefined, { id: "r" });
  const made = {
    id: "f",
    eval: "pay",
    from: options.from,
    variant: { prompt: "new" },
    stubs: {},
    refuse: false,
  };
  const kill = new AbortController();
  listen((turn) => turn === 2 && kill.abort());
  await expect(forkForEval(app, "r", { ...made, signal: kill.signal }, null)).rejects.toThrow("abort");
  const before = asked();
  await app.sweep();
  await expect(app.advance("f")).rejects.toMatchObject({ code: "unknown-workflow" });
  expect(asked()).toBe(before);
  const { outcome } = await forkForEval(app, "r", made, null);
  expect(outcome).toMatchObject({ status: "completed", output: "paid: receipt 1, receipt 2" });
  expect(paid).toEqual(["receipt 1", "receipt 2"]);
  expect(asked()).toBe(before + 1);
});
