import { expect, test } from "vitest";
import { createApp, durable, MemoryStorage, type App, type Context } from "@durable/core";
import type { HooksOption } from "@durable/core/hooks";
import { durableModel, durableTools } from "@durable/ai-sdk";
import { scriptedModel, type ModelTurn } from "@durable/testing";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { costsOf, pulseOf } from "@durable/core/inspect";
import { evaluate, removeEval, type EvalOptions, type Report } from "../src/index.ts";
import { systemOf } from "./support/world.ts";

/** An agent whose tool moves money: it asks for 10 with the old prompt, and for 20 with the new one. */
function payer(
  more: (ctx: Context) => Promise<unknown> = async () => {},
  approve = false,
  hooks: HooksOption = [],
) {
  const paid: number[] = [];
  const notified: string[] = [];
  let id = 0;
  const model = scriptedModel((_, call): ModelTurn => {
    const cents = systemOf(call) === "new" ? 20 : 10;
    if (call.turn === 1) return { calls: [{ tool: "pay", id: `call-${++id}`, input: { cents } }] };
    return `${systemOf(call)}: ${JSON.stringify(call.toolResults.map(({ value }) => value))}`;
  });
  const tools = {
    pay: tool({
      description: "Pays.",
      inputSchema: jsonSchema<{ cents: number }>({
        type: "object",
        properties: { cents: { type: "number" } },
      }),
      execute: ({ cents }) => {
        paid.push(cents);
        return `receipt ${paid.length}`;
      },
    }),
  };
  const notify = ({ tool: name }: { readonly tool: string }): void => void notified.push(name);
  const flow = durable("payer", async (ctx: Context) => {
    const { text } = await generateText({
      model: durableModel(ctx, model),
      tools: durableTools(ctx, tools, { pay: { approve: approve ? { notify } : false } }),
      stopWhen: stepCountIs(4),
      system: "old",
      prompt: "pay",
    });
    await more(ctx);
    return text;
  });
  const app = createApp({
    workflows: [flow],
    storage: new MemoryStorage(),
    bind: false,
    hooks,
    secret: "0123456789abcdef-eval",
  });
  return { app, flow, paid, notified, model };
}

const run = (app: App, prompt: string, more: Partial<EvalOptions> = {}): Promise<Report> =>
  evaluate(app, {
    name: "pay",
    runs: ["r"],
    from: { turn: 1 },
    variants: [{ name: "v", prompt }],
    score: { same: ({ after, before }) => after.text === before.text },
    ...more,
  });

test("a tool is answered by its name and equal input, although the call has another id", async () => {
  const { app, flow, paid } = payer();
  await app.run(flow, undefined, { id: "r" });
  const report = await run(app, "calm");
  expect(paid).toEqual([10]);
  expect(report.cases[0]).toMatchObject({ afterText: 'calm: ["receipt 1"]', verdict: "worse" });
  expect(report.variants[1]).toMatchObject({ stopped: 0, answered: 1 });
});

test("other arguments end the fork, and it is counted; a stub answers them; `refuse` ends any call", async () => {
  const { app, flow, paid } = payer();
  await app.run(flow, undefined, { id: "r" });
  const off = await run(app, "new");
  expect(off.variants[1]).toMatchObject({ n: 0, stopped: 1, scores: {} });
  expect(off.cases[0]?.reason).toMatch(/stops at step "pay call-2": run r has no outcome of it/);
  const given: unknown[] = [];
  const stubbed = await run(app, "new", { tools: { pay: (input) => (given.push(input), "a stub") } });
  expect(given).toEqual([{ cents: 20 }]);
  expect(stubbed.cases[0]?.afterText).toBe('new: ["a stub"]');
  const refused = await run(app, "calm", { tools: "refuse" });
  expect(refused.variants[1]).toMatchObject({ stopped: 1 });
  expect(paid).toEqual([10]);
});

test("an approval is answered as it was for an equal call, and no person is asked", async () => {
  const { app, flow, paid, notified } = payer(undefined, true);
  const first = await app.run(flow, undefined, { id: "r" });
  if (first.status !== "suspended") throw new Error(first.status);
  await app.resume(first.waiting[0]!.token, true);
  expect([paid, notified]).toEqual([[10], ["pay"]]);
  const report = await run(app, "calm");
  expect(report.cases[0]?.afterText).toBe('calm: ["receipt 1"]');
  expect([paid, notified]).toEqual([[10], ["pay"]]);
});

test("where the original still waits, the fork has come as far, and is scored", async () => {
  const { app, flow } = payer((ctx) => ctx.suspend("next"));
  await app.run(flow, undefined, { id: "r" });
  const report = await run(app, "calm");
  expect(report.variants[1]).toMatchObject({ n: 1, stopped: 0 });
  expect(report.cases[0]?.afterText).toBe('calm: ["receipt 1"]');
  expect((await app.list({ waiting: true })).runs.map(({ runId }) => runId)).toEqual(["r"]);
});

test("a failing fork undoes nothing", async () => {
  const undone: string[] = [];
  const { app, flow } = payer(async (ctx) => {
    await ctx.step("book", () => "booked", { compensate: () => void undone.push("booked") });
    if (ctx.runId !== "r") throw new Error("no");
  });
  await app.run(flow, undefined, { id: "r" });
  const report = await run(app, "calm", { from: "book" });
  expect(report.cases[0]).toMatchObject({ verdict: "failed", reason: expect.stringContaining("Error: no") });
  expect(undone).toEqual([]);
});

test("another model is asked, and paid, in place of the recorded one", async () => {
  const { app, flow, model } = payer();
  await app.run(flow, undefined, { id: "r" });
  model.reset();
  const other = scriptedModel(["other words"], { modelId: "other" });
  const report = await run(app, "unused", { variants: [{ name: "v", model: other }], from: { turn: -1 } });
  expect([model.calls.length, other.calls.length]).toEqual([0, 1]);
  expect(report.cases[0]?.afterText).toBe("other words");
  const { rows } = await app.spend({ by: "model", eval: "pay" });
  expect(rows.map(({ key }) => key)).toEqual(["other"]);
});

test("a variant with an app of its own keeps the turns before the cut, though its prompt is another", async () => {
  const { app, flow, paid } = payer();
  await app.run(flow, undefined, { id: "r" });
  const asked: string[] = [];
  const model = scriptedModel((_, call) => {
    asked.push(systemOf(call));
    return "from new code";
  });
  const changed = durable("payer", async (ctx: Context) => {
    const pay = tool({
      description: "Pays.",
      inputSchema: jsonSchema({ type: "object" }),
      execute: () => paid.push(1),
    });
    const { text } = await generateText({
      model: durableModel(ctx, model),
      tools: durableTools(ctx, { pay }),
      stopWhen: stepCountIs(4),
      system: "changed",
      prompt: "pay",
    });
    return text;
  });
  const other = createApp({ workflows: [changed], storage: new MemoryStorage(), bind: false });
  const report = await run(app, "", { variants: [{ name: "v", app: other }], from: { turn: -1 } });
  expect(report.cases[0]?.afterText).toBe("from new code");
  expect(asked).toEqual(["changed"]);
  expect(paid).toEqual([10]);
  // A turn that the changed code has kept is reused, not paid.
  expect(report.variants[1]).toMatchObject({ paid: { calls: 1 }, reused: { calls: 1 } });
});

test("sums of production are the same before an eval, after it, and when it is removed", async () => {
  const { app, flow } = payer();
  await app.run(flow, undefined, { id: "r" });
  const until = Date.now() + 3_600_000;
  const time = { since: until - 7_200_000, until };
  const sums = async () => ({
    pulse: (await pulseOf(app, { ...time, parts: 2 }))?.total,
    costs: await costsOf(app, time),
    spend: await app.spend({ by: "workflow" }),
  });
  const before = await sums();
  expect(before.pulse?.started).toBe(1);
  await run(app, "calm");
  expect(await sums()).toEqual(before);
  expect(await removeEval(app, "pay")).toBe(3);
  expect(await sums()).toEqual(before);
  const { rows } = await app.spend({ by: "workflow", eval: "pay" });
  expect(rows.map(({ key }) => key)).toEqual(["eval pay"]);
});

test("only its eval drives a fork, lists leave it out, and hooks see what it is", async () => {
  const seen = new Set<string>();
  const { app, flow } = payer(undefined, false, {
    onRun: ({ runId, eval: made }) => void seen.add(`${runId.slice(0, 4)} ${made}`),
    onStep: ({ runId, eval: made }) => void seen.add(`${runId.slice(0, 4)} ${made}`),
  });
  await app.run(flow, undefined, { id: "r" });
  expect([...seen]).toEqual(["r undefined"]);
  const report = await run(app, "calm");
  const { forkId } = report.cases[0]!;
  const [head] = (await app.list({ eval: "pay" })).runs.filter(({ runId }) => runId === forkId);
  expect(head).toMatchObject({ eval: "pay", label: "eval pay: v", parent: "r" });
  expect((await app.list({ parent: "r" })).runs).toEqual([]);
  expect([...seen]).toEqual(["r undefined", "eval pay"]);
});
