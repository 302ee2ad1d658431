/** Tools of an MCP server: plain, in a run, and in its next life with the server down. */

import * as mcp7 from "@ai-sdk/mcp";
import type { Context } from "@durable/core";
import type * as ai7 from "ai";
import * as mcp5 from "ai-5/mcp";
import * as mcp6 from "ai-6/mcp";
import { afterEach, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { durableMCPTools, durableModel, MCPToolError, type MCPToolsOptions } from "../src/index.ts";
import { Lab, waitOf } from "./support/lab.ts";
import { McpServer } from "./support/mcp-server.ts";
import { number, text, tools } from "./support/mcp-tools.ts";
import { Provider, type Said } from "./support/provider.ts";
import { threeLives } from "./support/three-lives.ts";
import { latest, versions, type Version } from "./support/versions.ts";

type Connect = (url: string) => Promise<mcp7.MCPClient>;

const connectors = {
  "ai 5": mcp5.experimental_createMCPClient,
  "ai 6": mcp6.experimental_createMCPClient,
  "ai 7": mcp7.createMCPClient,
} as unknown as Record<string, (config: object) => Promise<mcp7.MCPClient>>;
const each = versions.map((version) => {
  const connect: Connect = (url) =>
    connectors[version.name]?.({ transport: { type: "http", url } }) as Promise<mcp7.MCPClient>;
  return [version.name, version, connect] as const;
});

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});
const keep = <T extends { close(): Promise<void> }>(one: T): T => (opened.push(one), one);

/** A model that makes these calls, and then reports. */
const caller =
  (calls: NonNullable<Said["calls"]>) =>
  ({ results }: { results: number }): Said =>
    results > 0 ? { text: "That is all." } : { text: "", calls };

interface Case {
  readonly calls: NonNullable<Said["calls"]>;
  readonly stream?: boolean;
  readonly options?: MCPToolsOptions;
  readonly pageSize?: number;
}

const one = (tool: string, input: unknown = {}) => ({ tool, input, id: `c-${tool}` });
const sum = { inputSchema: z.object({ n: z.number() }), outputSchema: z.object({ sum: z.number() }) };
const cases: Readonly<Record<string, Case>> = {
  "one call": { calls: [one("add", { n: 1 })] },
  "two calls at once, streamed": {
    calls: [one("add", { n: 1 }), { ...one("add", { n: 5 }), id: "c-2" }],
    stream: true,
  },
  "images, audio and links": { calls: [one("draw")] },
  "images, streamed": { calls: [one("draw")], stream: true },
  "a result that is an error": { calls: [one("fail")] },
  "an error of the server": { calls: [one("break")] },
  "a result without content": { calls: [one("quiet")] },
  "schemas of the program": { calls: [one("add", { n: 1 })], options: { schemas: { add: sum } } },
  "a list of several pages": { calls: [one("add", { n: 1 })], pageSize: 2 },
};

async function agent(
  { ai }: Version,
  {
    model,
    tools: given,
    stream,
  }: { model: ReturnType<Version["models"]["chat"]>; tools: object; stream: boolean },
): Promise<unknown> {
  const asked = { model, tools: given as ai7.ToolSet, prompt: "Go.", stopWhen: ai.stepCountIs(3) };
  if (!stream) {
    const { text: said, steps } = await ai.generateText(asked);
    return { said, steps: steps.map(({ content, finishReason }) => ({ content, finishReason })) };
  }
  const result = ai.streamText(asked);
  const parts: unknown[] = [];
  for await (const part of result.fullStream)
    if (part.type.startsWith("tool-") || part.type === "error") parts.push(part);
  return { parts, said: await result.text };
}

describe.each(each)("%s", (_, version, connect) => {
  // All with the latest version; with the others, in a sample, one in three.
  const isWhole = inject("full") || version === latest;
  const chosen = Object.entries(cases).filter((__, n) => isWhole || n % 3 === versions.indexOf(version));
  test.each(chosen)("%s", async (__, { calls, stream = false, options = {}, pageSize }) => {
    const [server, provider] = [keep(await McpServer.open(tools)), keep(await Provider.open(caller(calls)))];
    if (pageSize !== undefined) server.pageSize = pageSize;
    const [url, providerUrl] = [server.url, provider.url];
    let connections = 0;
    const connected = () => ((connections += 1), connect(url));
    const plain = async (): Promise<object> => (await connected()).tools(options as never);
    const lives = await threeLives(
      async (ctx) => {
        const model = version.models.chat(providerUrl);
        if (ctx === null) return agent(version, { model, tools: await plain(), stream });
        const own = await durableMCPTools(ctx, connected, options);
        return agent(version, { model: durableModel(ctx, model), tools: own, stream });
      },
      async () => {
        for (const open of opened.splice(0)) await open.close();
      },
    );
    expect(lives.plain).toHaveProperty("value");
    expect(lives.run).toEqual(lives.plain);
    expect(lives.next).toEqual(lives.run);
    // The provider was told the same about the tools and their results.
    const bodies = provider.requests.map(({ body }) => JSON.parse(body) as unknown);
    expect(bodies).toHaveLength(4);
    expect(bodies.slice(2)).toEqual(bodies.slice(0, 2));
    expect(connections).toBe(2);
    expect(server.asked.filter((asked) => asked !== "list")).toHaveLength(2 * calls.length);
    expect(lives.lab.warnings).toEqual([]);
  });

  test("the record shows results to a model as the client does, of every kind", async () => {
    const server = keep(await McpServer.open(tools));
    const own = (await (await connect(server.url)).tools()) as unknown as Record<string, Shown>;
    const lab = new Lab();
    const body = (ctx: Context) => durableMCPTools(ctx, () => connect(server.url));
    await lab.drive(body);
    await server.close();
    opened.length = 0;
    const { value } = await lab.drive(body);
    const recorded = value as unknown as Record<string, Shown>;
    expect(Object.keys(recorded)).toEqual(Object.keys(own));
    for (const output of [
      tools["draw"]?.call({}),
      { content: [], structuredContent: { a: 1 } },
      { sum: 3 },
      { content: [{ type: "resource", resource: { uri: "a:b", text: "hello" } }] },
    ])
      expect(recorded["add"]?.toModelOutput?.({ output })).toEqual(own["add"]?.toModelOutput?.({ output }));
    for (const [name, { execute: _execute, toModelOutput: _shown, ...about }] of Object.entries(own)) {
      const { execute: ___, toModelOutput: ____, ...again } = recorded[name] ?? {};
      expect(JSON.parse(JSON.stringify(again))).toEqual(JSON.parse(JSON.stringify(about)));
    }
  });

  test("a server that changes between lives does not disturb a run", async () => {
    const calls = [one("add", { n: 1 })];
    const [server, provider] = [keep(await McpServer.open(tools)), keep(await Provider.open(caller(calls)))];
    const lab = new Lab();
    const body = async (ctx: Context): Promise<unknown> => {
      const own = await durableMCPTools(ctx, () => connect(server.url), {
        tools: { add: { approve: true } },
      });
      const model = durableModel(ctx, version.models.chat(provider.url));
      return agent(version, { model, tools: own, stream: false });
    };
    const parked = await lab.drive(body);
    // Other words, another tool, another order, and the tool itself works otherwise.
    server.tools = {
      hello: { description: "New.", call: () => text("hello") },
      add: { description: "Adds two.", inputSchema: number, call: ({ n }) => text(`${Number(n) + 2}`) },
    };
    await lab.resume(body, waitOf(parked, "approval add ").token, true);
    const { value } = await lab.drive(body);
    expect(value).toMatchObject({ said: "That is all." });
    expect(JSON.stringify(value)).toContain('"text":"3"');
    expect(provider.requests).toHaveLength(2);
    expect(server.asked.filter((asked) => asked === "call add")).toHaveLength(1);
    expect(provider.requests[1]?.body).toContain("Adds one.");
  });

  test.each([
    ["gone", 'The MCP server "desk" no longer has the tool "add".'],
    ["unreachable", 'The MCP server "desk" cannot be reached.'],
  ] as const)(
    "a tool that is %s: its call fails with a named error, and the run goes on",
    async (reason, message) => {
      const calls = [one("add", { n: 1 })];
      const [server, provider] = [await McpServer.open(tools), keep(await Provider.open(caller(calls)))];
      const { url } = server;
      const lab = new Lab();
      const errors: unknown[] = [];
      const body = async (ctx: Context): Promise<unknown> => {
        const connected = () => connect(url);
        const own = await durableMCPTools(ctx, connected, { name: "desk", every: { approve: true } });
        const model = durableModel(ctx, version.models.chat(provider.url));
        const result = await version.ai.generateText({
          model,
          tools: own,
          prompt: "Go.",
          stopWhen: version.ai.stepCountIs(3),
        });
        for (const { content } of result.steps)
          for (const part of content as { type: string; error?: unknown }[])
            if (part.type === "tool-error") errors.push(part.error);
        return result.text;
      };
      const parked = await lab.drive(body);
      if (reason === "gone") {
        const { add: _gone, ...left } = tools;
        server.tools = left;
        keep(server);
      } else await server.close();
      await lab.resume(body, waitOf(parked, "approval add ").token, true);
      const { value } = await lab.drive(body);
      expect(value).toBe("That is all.");
      expect(provider.requests).toHaveLength(2);
      expect(errors).toHaveLength(2);
      for (const error of errors) {
        expect(MCPToolError.isInstance(error)).toBe(true);
        expect(error).toMatchObject({ name: "MCPToolError", reason, tool: "add", message });
      }
      expect(server.asked).not.toContain("call add");
    },
  );
});

interface Shown {
  readonly execute?: unknown;
  readonly toModelOutput?: (given: { readonly output: unknown }) => unknown;
}
