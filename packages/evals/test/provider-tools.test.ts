/** Tools that a provider executes itself, in answers as providers send them and as the SDKs record them: no eval can stop these. */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { durableModel } from "@durable/ai-sdk";
import { durableModel as durableAgentModel } from "@durable/openai-agents";
import { Agent, OpenAIResponsesModel, Runner, setTracingDisabled, webSearchTool } from "@openai/agents";
import { generateText, jsonSchema, streamText, tool, type ToolSet } from "ai";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { evaluate, type Report } from "../src/index.ts";

setTracingDisabled(true);
const apiKey = "key";
const text = "It rains.";

const search = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "weather" },
};
const message = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
};
/** The provider calls a tool of the program, too: it is the run that executes this one. */
const own = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "look",
  arguments: "{}",
  status: "completed",
};
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status: "completed",
  usage: { input_tokens: 30, output_tokens: 8, total_tokens: 38 },
};

/** What OpenAI sends: a search, then words, or a call of a tool of the program. */
function openaiAnswer(streams: boolean, last: object): Response {
  const done = { ...response, output: [search, last] };
  if (!streams) return Response.json(done);
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const { action: _, ...opened } = search;
  const events = [
    { type: "response.created", response: begun },
    { type: "response.output_item.added", output_index: 0, item: { ...opened, status: "in_progress" } },
    { type: "response.output_item.done", output_index: 0, item: search },
    { type: "response.output_item.added", output_index: 1, item: { ...message, content: [] } },
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 1,
      content_index: 0,
      delta: text,
    },
    { type: "response.output_item.done", output_index: 1, item: message },
    { type: "response.completed", response: done },
  ];
  return eventsOf(events);
}

/** What Anthropic sends: a search with its result, then words. */
function anthropicAnswer(streams: boolean): Response {
  const usage = { input_tokens: 30, output_tokens: 8 };
  const head = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null };
  const call = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search" };
  const page = { type: "web_search_result", url: "https://example.org/", title: "Rain", page_age: null };
  const found = {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ ...page, encrypted_content: "x" }],
  };
  const input = { query: "weather" };
  const content = [{ ...call, input }, found, { type: "text", text }];
  if (!streams) return Response.json({ ...head, content, stop_reason: "end_turn", usage });
  const stop = (index: number) => ({ type: "content_block_stop", index });
  return eventsOf([
    { type: "message_start", message: { ...head, content: [], stop_reason: null, usage } },
    { type: "content_block_start", index: 0, content_block: { ...call, input: {} } },
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
    },
    stop(0),
    { type: "content_block_start", index: 1, content_block: found },
    stop(1),
    { type: "content_block_start", index: 2, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 2, delta: { type: "text_delta", text } },
    stop(2),
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ]);
}

type ServerEvent = Readonly<Record<string, unknown>>;

function eventsOf(events: readonly ServerEvent[]): Response {
  const lines = events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`);
  return new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** What the data of a report names, and each form of it. */
function namedIn(report: Report): readonly (readonly string[])[] {
  const forms = [report.text(), report.markdown(), report.html()].map((form) => {
    const found = /at the provider, which no eval can stop: ([\w, ]+)\./.exec(form.replaceAll("\\", ""));
    return found?.[1]?.split(", ") ?? [];
  });
  return [report.providerTools, ...forms];
}

const everywhere = (names: readonly string[]) => Array.from({ length: 4 }, () => names);

const openai = createOpenAI({ apiKey, fetch: async () => openaiAnswer(false, message) });
const openaiStreaming = createOpenAI({ apiKey, fetch: async () => openaiAnswer(true, message) });
const anthropic = createAnthropic({ apiKey, fetch: async () => anthropicAnswer(false) });
const anthropicStreaming = createAnthropic({ apiKey, fetch: async () => anthropicAnswer(true) });

const ofOpenai: ToolSet = { web_search: openai.tools.webSearch({}) };
const ofAnthropic: ToolSet = { web_search: anthropic.tools.webSearch_20250305({}) };

function appOf(body: (ctx: Context) => Promise<unknown>) {
  const flow = durable("asks", body);
  const app = createApp({ workflows: [flow], storage: new MemoryStorage(), bind: false });
  return { app, flow };
}

describe.each([
  ["OpenAI", false, openai("m"), ofOpenai],
  ["OpenAI", true, openaiStreaming("m"), ofOpenai],
  ["Anthropic", false, anthropic("m"), ofAnthropic],
  ["Anthropic", true, anthropicStreaming("m"), ofAnthropic],
] as const)("%s through the AI SDK, streamed: %s", (_, streams, model, tools) => {
  test("the report names the tool", async () => {
    const { app, flow } = appOf(async (ctx) => {
      const question = { system: "old", prompt: "Does it rain?", maxOutputTokens: 100 };
      const asked = { model: durableModel(ctx, model), tools, ...question };
      return streams ? streamText(asked).text : (await generateText(asked)).text;
    });
    expect(await app.run(flow, undefined, { id: "r" })).toMatchObject({ output: text });
    const report = await evaluate(app, {
      name: "search",
      runs: ["r"],
      variants: [{ name: "v", prompt: "new" }],
      score: { same: ({ before, after }) => before.text === after.text },
    });
    expect(report.variants[1]).toMatchObject({ n: 1 });
    expect(namedIn(report)).toEqual(everywhere(["web_search"]));
  });
});

test("neither tools of the program are named, nor those of turns before the cut", async () => {
  let asked = 0;
  const provider = createOpenAI({
    apiKey,
    fetch: async () =>
      asked++ === 0 ? openaiAnswer(false, own) : Response.json({ ...response, output: [message] }),
  });
  const look = tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "wet" });
  const { app, flow } = appOf(async (ctx) => {
    const { text: said } = await generateText({
      model: durableModel(ctx, provider("m")),
      tools: { web_search: provider.tools.webSearch({}), look },
      stopWhen: ({ steps }) => steps.length === 2,
      system: "old",
      prompt: "Does it rain?",
    });
    return said;
  });
  expect(await app.run(flow, undefined, { id: "r" })).toMatchObject({ output: text });
  const report = await evaluate(app, {
    name: "search",
    runs: ["r"],
    variants: [{ name: "v", prompt: "new" }],
    score: { same: ({ before, after }) => before.text === after.text },
  });
  expect([asked, report.paid.calls, report.reused.calls]).toEqual([3, 1, 1]);
  expect(namedIn(report)).toEqual(everywhere([]));
});

test.each([false, true])("an agent of the OpenAI Agents SDK, streamed: %s", async (stream) => {
  const client = new OpenAI({ apiKey, fetch: async () => openaiAnswer(stream, message) });
  const { app, flow } = appOf(async (ctx) => {
    const model = durableAgentModel(ctx, new OpenAIResponsesModel(client, "m"));
    const agent = new Agent({ name: "Ada", instructions: "old", model, tools: [webSearchTool()] });
    const runner = new Runner({ tracingDisabled: true });
    if (!stream) return (await runner.run(agent, "Does it rain?")).finalOutput;
    const result = await runner.run(agent, "Does it rain?", { stream: true });
    await result.completed;
    return result.finalOutput;
  });
  expect(await app.run(flow, undefined, { id: "r" })).toMatchObject({ output: text });
  const [ask] = (await app.get("r").entries()).flatMap((entry) => ("key" in entry ? [entry.key] : []));
  const report = await evaluate(app, {
    name: "search",
    runs: ["r"],
    from: ask,
    variants: [{ name: "v", prompt: "new" }],
    score: { same: ({ before, after }) => before.output === after.output },
  });
  expect(report.variants[1]).toMatchObject({ n: 1, paid: { calls: 1 } });
  expect(namedIn(report)).toEqual(everywhere(["web_search_call"]));
});
