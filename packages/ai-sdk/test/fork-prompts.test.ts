/** Forks with another system prompt: calls that run again ask with it, where the code gives the one that is replaced. */

import { createApp, durable, MemoryStorage, type App } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { promptsIn, replayRun, viewRun } from "@durable/core/inspect";
import { scriptedModel, type ModelTurn } from "@durable/testing";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { durableModel, durableTools } from "../src/index.ts";

const encryption = aesGcm({ current: "k1", keys: { k1: "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY" } });
const kind = "You are kind.";
const brief = "You are brief.";
const strict = "You find faults.";

interface Agent {
  readonly app: App;
  readonly storage: MemoryStorage;
  /** The system prompt of each call of the model. */
  readonly asked: string[];
}

/** An agent that looks with a tool, a judge with a prompt of its own, and a call without a system prompt. */
function agent(streams: boolean): Agent {
  const asked: string[] = [];
  const model = scriptedModel((_, { prompt, toolResults }): ModelTurn => {
    const first = prompt.find(({ role }) => role === "system");
    const system = typeof first?.content === "string" ? first.content : "none";
    asked.push(system);
    const looks = system === kind || system === brief;
    return looks && toolResults.length === 0
      ? { calls: [{ tool: "look", id: `call-${asked.length}`, input: { at: "quay" } }] }
      : `${system} ${toolResults.length}`;
  });
  const look = tool({
    inputSchema: jsonSchema<{ at: string }>({ type: "object", properties: { at: { type: "string" } } }),
    execute: ({ at }) => `${at} is fine`,
  });
  const flow = durable("agent", async (ctx, question: string) => {
    const durableOne = durableModel(ctx, model);
    const tools = durableTools(ctx, { look });
    const options = { model: durableOne, system: kind, prompt: question, tools, stopWhen: stepCountIs(5) };
    const text = streams ? await streamText(options).text : (await generateText(options)).text;
    await generateText({ model: durableOne, system: strict, prompt: text });
    return (await generateText({ model: durableOne, prompt: text })).text;
  });
  const storage = new MemoryStorage();
  const secret = "a secret for tests, of no worth";
  const shared = { storage, secret, encryption, record: { prompts: true }, bind: false } as const;
  return { app: createApp({ ...shared, workflows: [flow] }), storage, asked };
}

const modelKeys = async (app: App, runId: string): Promise<string[]> => {
  const entries = await app.get(runId).entries();
  return viewRun(entries).rows.flatMap(({ key, prompt }) => (prompt === true ? [key] : []));
};

const systemsIn = async (app: App, runId: string): Promise<unknown[]> => {
  const entries = await app.get(runId).entries();
  const prompts = promptsIn(entries);
  return (await modelKeys(app, runId)).map((key) => {
    const [first] = (prompts(key)?.messages ?? []) as readonly { role: string; content: unknown }[];
    return first?.role === "system" ? first.content : null;
  });
};

describe.each([["generated", false] as const, ["streamed", true] as const])("%s", (_, streams) => {
  test("only the calls that run again ask with it, and only where the code gives the old one", async () => {
    const { app, asked, storage } = agent(streams);
    const run = await app.start("agent", "quay?", { id: "r" });
    expect(await run.result()).toBe("none 0");
    expect(asked.splice(0)).toEqual([kind, kind, strict, "none"]);
    const [, second = ""] = await modelKeys(app, "r");
    const options = { from: second, prompts: { [kind]: brief } };
    const plan = await run.plan(options);
    expect(plan.blocked).toBeNull();
    expect(plan.calls.map(({ what }) => what)).toEqual(["reused", "reused", "runs", "runs", "runs"]);
    expect(asked).toEqual([]);
    const fork = await run.fork({ ...options, id: "f" });
    await fork.result();
    expect(asked.splice(0)).toEqual([brief, strict, "none"]);
    expect(await systemsIn(app, "f")).toEqual([kind, brief, strict, null]);
    // What the parent asked is what it was.
    expect(await systemsIn(app, "r")).toEqual([kind, kind, strict, null]);
    // Replayed, it asks nothing.
    expect((await replayRun(app, "f")).verdict).toBe("same");
    expect(asked).toEqual([]);
    const first = (await fork.entries()).find(({ kind: is }) => is === "run.forked");
    expect(first).toMatchObject({ kind: "run.forked", prompts: { [kind]: brief } });
    const { batches } = await storage.read((await storage.list({ parent: "r" })).runs[0]!.locator);
    expect(batches.join("")).not.toContain("brief");
  });

  test("a fork of the fork keeps its prompt, and can name it by the text that was asked or that of the code", async () => {
    const { app, asked } = agent(streams);
    const run = await app.start("agent", "quay?", { id: "r" });
    await run.result();
    const [first = ""] = await modelKeys(app, "r");
    const fork = await run.fork({ from: first, prompts: { [kind]: brief }, id: "f" });
    await fork.result();
    asked.length = 0;
    const forkOf = async (id: string, prompts?: Record<string, string>): Promise<string[]> => {
      await (await fork.fork({ from: first, id, ...(prompts !== undefined && { prompts }) })).result();
      return asked.splice(0);
    };
    expect(await forkOf("g")).toEqual([brief, brief, strict, "none"]);
    expect(await forkOf("h", { [brief]: "Say no." })).toEqual(["Say no.", strict, "none"]);
    expect(await forkOf("i", { [kind]: "Say yes." })).toEqual(["Say yes.", strict, "none"]);
    expect(await forkOf("j", { "": "Sum up.", [strict]: "Praise." })).toEqual([
      brief,
      brief,
      "Praise.",
      "Sum up.",
    ]);
  });
});

test("prompts that are no texts are refused", async () => {
  const { app } = agent(false);
  const run = await app.start("agent", "quay?", { id: "r" });
  await run.result();
  for (const prompts of [{}, { [kind]: 1 }, "brief"])
    await expect(
      run.fork({ from: { turn: 1 }, prompts: prompts as unknown as Record<string, string> }),
    ).rejects.toMatchObject({ code: "invalid-options" });
});
