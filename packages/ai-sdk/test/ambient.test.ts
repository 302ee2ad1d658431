/** Clocks and random sources in tests of agents: those of the SDK are known, those of the program are reported. */

import { durable, type Context } from "@durable/core";
import { CrashError, crashEverywhere, scriptedModel } from "@durable/testing";
import { generateId } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { durableModel, durableTools } from "../src/index.ts";
import { fakeModel } from "./support/fake-model.ts";
import { Provider } from "./support/provider.ts";
import { versions, type Version } from "./support/versions.ts";

async function reads(flow: (ctx: Context) => Promise<unknown>): Promise<string[]> {
  const subject = durable("reads", flow);
  try {
    const { ambient } = await crashEverywhere(subject, { faults: [], compare: false });
    return ambient.map(({ name, at }) => `${name} ${at}`);
  } catch (error) {
    if (error instanceof CrashError) return error.report.ambient.map(({ name, at }) => `${name} ${at}`);
    throw error;
  }
}

describe.each(versions.map((version) => [version.name, version] as const))("%s", (_, version) => {
  test.each([false, true])("streaming %s: an agent needs no list of what the SDK reads", async (stream) => {
    const server = await Provider.open(({ results }) =>
      results > 0 ? { text: "done" } : { text: "", calls: [{ tool: "look", input: {}, id: "c" }] },
    );
    try {
      expect(await reads((ctx) => agent(version, ctx, server.url, stream))).toEqual([]);
    } finally {
      await server.close();
    }
  });
});

async function agent({ ai, models }: Version, ctx: Context, url: string, stream: boolean): Promise<string> {
  const look = ai.tool({ inputSchema: z.object({}), execute: () => "looked" });
  const asked = {
    model: durableModel(ctx, models.chat(url)),
    tools: durableTools(ctx, { look }),
    prompt: "?",
    stopWhen: ai.stepCountIs(3),
  };
  return stream ? ai.streamText(asked).text : (await ai.generateText(asked)).text;
}

const { ai } = versions.at(-1) as Version;

test.each([
  ["the prompt", "Math.random", async () => String(Math.random())],
  [
    "a callback of the SDK",
    "Date.now",
    async (ctx: Context) => asking(ctx, { onStepFinish: () => void Date.now() }),
  ],
  ["a tool that is not durable", "new Date", async (ctx: Context) => asking(ctx, { tools: { look } })],
  // The id is the program's, and another one on every replay.
  ["generateId of the SDK", "Math.random", async () => generateId()],
] as const)("in user code it is still reported: %s", async (_, name, flow) => {
  const found = await reads(flow);
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(`${name} packages/ai-sdk/test/ambient.test.ts:`);
});

const look = ai.tool({ inputSchema: z.object({}), execute: () => new Date().getTime() > 0 });

async function asking(ctx: Context, options: object): Promise<string> {
  const model =
    "tools" in options
      ? scriptedModel([{ calls: [{ tool: "look", input: {} }] }, "done"])
      : fakeModel(() => "done");
  const stopWhen = ai.stepCountIs(3);
  const asked = { model: durableModel(ctx, model as never), prompt: "?", stopWhen, ...options };
  return (await ai.generateText(asked)).text;
}
