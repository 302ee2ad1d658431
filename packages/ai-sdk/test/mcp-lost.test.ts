/** MCP servers that are down or restarted, and tools over a journal. */

import * as mcp7 from "@ai-sdk/mcp";
import { Journal, MemoryStorage, type Context } from "@durable/core";
import * as ai7 from "ai";
import * as ai5 from "ai-5";
import type * as mcp5 from "ai-5/mcp";
import * as ai6 from "ai-6";
import type * as mcp6 from "ai-6/mcp";
import { afterEach, expect, test } from "vitest";
import { durableMCPTools, type MCPClient } from "../src/index.ts";
import { Lab } from "./support/lab.ts";
import { McpServer } from "./support/mcp-server.ts";
import { tools } from "./support/mcp-tools.ts";

const latest = (url: string) => mcp7.createMCPClient({ transport: { type: "http", url } });

const opened: McpServer[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});
const keep = (one: McpServer): McpServer => (opened.push(one), one);

test("a server that is down at the start fails the list, and is asked again", async () => {
  const server = keep(await McpServer.open(tools));
  const lab = new Lab();
  let tries = 0;
  const { value } = await lab.drive(async (ctx) => {
    const connected = () => latest((tries += 1) < 2 ? "http://127.0.0.1:9/mcp" : server.url);
    return Object.keys(await durableMCPTools(ctx, connected, { retry: { attempts: 2, delay: 0 } }));
  });
  expect(value).toEqual(Object.keys(tools));
  const down = new Lab();
  const { error } = await down.drive((ctx) =>
    durableMCPTools(ctx, () => latest("http://127.0.0.1:9/mcp"), { retry: false }),
  );
  expect(error).toMatchObject({ name: "MCPToolError", reason: "unreachable", tool: null });
});

test("a call that finds the server gone connects again, if it may be retried", async () => {
  const servers = [await McpServer.open(tools), keep(await McpServer.open(tools))];
  const urls = servers.map(({ url }) => url);
  const lab = new Lab();
  let connections = 0;
  const { value } = await lab.drive(async (ctx) => {
    const connected = () => latest(urls[connections++] ?? "");
    const retry = { attempts: 2, delay: 0 };
    const own = await durableMCPTools(ctx, connected, { every: { retry } });
    await ctx.step("restart", () => servers[0]?.close());
    return own["add"]?.execute({ n: 1 }, { toolCallId: "a" });
  });
  expect(value).toMatchObject({ structuredContent: { sum: 2 } });
  expect(connections).toBe(2);
  expect(servers[1]?.asked).toEqual(["list", "call add"]);
});

test("over a journal: the list and the results are records", async () => {
  const server = await McpServer.open(tools);
  const storage = new MemoryStorage();
  const call = async (url: string): Promise<unknown> => {
    const own = await durableMCPTools(await Journal.open("j", { storage }), () => latest(url));
    return own["add"]?.execute({ n: 1 }, { toolCallId: "a" });
  };
  const live = await call(server.url);
  await server.close();
  expect(await call("http://127.0.0.1:9/mcp")).toEqual(live);
  expect(live).toMatchObject({ structuredContent: { sum: 2 } });
});

test("the types of clients fit, and tools keep their types", () => {
  const fits = (
    client: mcp7.MCPClient,
    sixth: mcp6.experimental_MCPClient,
    fifth: mcp5.experimental_MCPClient,
  ) => {
    const all: MCPClient[] = [client, sixth, fifth];
    const asked = { model: null as never, prompt: "" };
    const generate = async (ctx: Context): Promise<unknown> => [
      await ai7.generateText({ ...asked, tools: await durableMCPTools(ctx, client) }),
      await ai6.generateText({ ...asked, tools: await durableMCPTools(ctx, () => sixth) }),
      await ai5.generateText({ ...asked, tools: await durableMCPTools(ctx, async () => fifth) }),
    ];
    return [all, generate];
  };
  expect(fits).toBeTypeOf("function");
});
