/** Turns of agents have numbers and words, and a changed turn of a fork is the same turn, run again. */

import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { diff } from "@durable/core/inspect";

import { expect, test } from "vitest";
import { z } from "zod";
import { durableModel, durableTools, turnsOf } from "../src/index.ts";
import { secret } from "./support/lab.ts";
import { Provider } from "./support/provider.ts";
import { versions } from "./support/versions.ts";

test.each(versions)(
  "$name: numbers, models and words; a fork from the last turn; re-run in the diff",
  async (version) => {
    const { ai, models } = version;
    const server = await Provider.open(({ question, results, number }) =>
      question === "Look." && results === 0
        ? { text: "", calls: [{ tool: "look", input: {} }] }
        : { text: `Answer ${number} has words enough.` },
    );
    let system = "You look.";
    const flow = durable("flow", async (ctx: Context) => {
      const look = ai.tool({ inputSchema: z.object({}), execute: () => "seen" });
      const asked = {
        model: durableModel(ctx, models.chat(server.url), { onChange: "ask" }),
        system,
        prompt: "Look.",
        tools: durableTools(ctx, { look }),
        stopWhen: ai.stepCountIs(3),
      };
      const { text } = await ai.generateText(asked);
      return [text, await ai.streamText({ ...asked, prompt: "Talk.", tools: {} }).text];
    });
    try {
      const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
      await app.run(flow, undefined, { id: "p" });
      const before = await app.get("p").entries();
      const turns = turnsOf(before);
      expect(turns.map(({ turn, model, words }) => [turn, model, words])).toEqual([
        [1, "scripted", "calls look"],
        [2, "scripted", "Answer 2 has words enough."],
        [3, "scripted", "Answer 3 has words enough."],
      ]);
      const last = await app.fork(flow, "p", { from: { turn: -1 }, id: "last" });
      await last.result();
      expect(server.requests).toHaveLength(4);
      const same = diff(before, await last.entries()).calls;
      expect(same.map(({ change }) => change)).toEqual(["same", "same", "same", "re-run"]);
      system = "You look closely.";
      const { calls, blocked } = await app.get("p").plan({ from: { turn: 1 } });
      expect(blocked).toBeNull();
      expect(calls.map(({ what, was, next }) => [what, was, next])).toEqual([
        ["runs", turns[0]!.key, true],
        ["runs", undefined, false],
        ["runs", undefined, false],
        ["runs", undefined, false],
      ]);
      const all = await app.fork(flow, "p", { from: { turn: 1 }, id: "all" });
      await all.result();
      const changed = diff(before, await all.entries()).calls.filter(({ key }) => !key.startsWith("look"));
      expect(changed.map(({ change, was }) => [change, was])).toEqual(
        turns.map(({ key }) => ["re-run", key]),
      );
    } finally {
      await server.close();
    }
  },
);

test("plain streams and steps are no turns", async () => {
  const flow = durable("flow", async (ctx: Context) => {
    await ctx.stream("own", () => [1, "two", { type: "finish" }]);
    await ctx.step("one", () => ({ content: [] }));
  });
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
  await app.run(flow, undefined, { id: "r" });
  expect(turnsOf(await app.get("r").entries())).toEqual([]);
});

test.each(["block", "keep"] as const)(
  "the plan says what a fork does with a changed prompt: %s",
  async (onChange) => {
    const { ai, models } = versions.at(-1)!;
    const server = await Provider.open(({ number }) => ({ text: `Answer ${number}.` }));
    let system = "You talk.";
    const flow = durable("flow", async (ctx: Context) => {
      const model = durableModel(ctx, models.chat(server.url), { onChange });
      const { text } = await ai.generateText({ model, system, prompt: "One." });
      return (await ai.generateText({ model, system, prompt: `Two after ${text}` })).text;
    });
    try {
      const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
      await app.run(flow, undefined, { id: "p" });
      system = "You talk well.";
      const plan = await app.get("p").plan({ from: { turn: -1 } });
      const run = await app.fork(flow, "p", { from: { turn: -1 }, id: "f" });
      const outcome = await run.result().then(
        () => "completed",
        (error: { code?: unknown }) => error.code,
      );
      expect([plan.blocked?.code, outcome]).toEqual(
        onChange === "block" ? ["diverged", "diverged"] : [undefined, "completed"],
      );
      if (onChange === "keep") {
        expect(plan.calls.map(({ what }) => what)).toEqual(["reused", "runs"]);
        expect(server.requests).toHaveLength(3);
      }
    } finally {
      await server.close();
    }
  },
);

test.each([0, 4, -4, 1.5, Number.NaN])("turn %d of three does not exist", async (turn) => {
  const { ai, models } = versions.at(-1)!;
  const server = await Provider.open(({ number }) => ({ text: `Answer ${number}.` }));
  const flow = durable("flow", async (ctx: Context) => {
    const model = durableModel(ctx, models.chat(server.url));
    for (const prompt of ["a", "b", "c"]) await ai.generateText({ model, prompt });
  });
  try {
    const app = createApp({ storage: new MemoryStorage(), secret, workflows: [flow] });
    await app.run(flow, undefined, { id: "p" });
    await expect(app.fork(flow, "p", { from: { turn } })).rejects.toMatchObject({
      code: "unknown-step",
      message: expect.stringContaining(`no turn ${turn}. It has 3 turns`) as string,
      details: { turns: 3 },
    });
  } finally {
    await server.close();
  }
});
