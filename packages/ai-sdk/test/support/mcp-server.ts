/** An MCP server on loopback: JSON-RPC over HTTP, with tools that a test can change while it runs. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Loopback, textOf } from "./loopback.ts";

export interface ServedTool {
  readonly description: string;
  readonly inputSchema?: object;
  readonly title?: string;
  readonly annotations?: object;
  /** The result; an error that it throws is a JSON-RPC error. */
  readonly call: (input: Record<string, unknown>) => object;
}

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: Record<string, unknown>;
    readonly cursor?: string;
  };
}

class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class McpServer {
  /** Methods that were asked for, without those of the handshake. */
  readonly asked: string[] = [];
  tools: Readonly<Record<string, ServedTool>>;
  /** How many tools one page of the list has. */
  pageSize = 100;
  readonly #server = new Loopback((request, response) => void this.#answer(request, response));

  private constructor(tools: Readonly<Record<string, ServedTool>>) {
    this.tools = tools;
  }

  static async open(tools: Readonly<Record<string, ServedTool>>): Promise<McpServer> {
    const server = new McpServer(tools);
    await server.#server.listen();
    return server;
  }

  get url(): string {
    return `${this.#server.origin}/mcp`;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(request);
    // A server that sends nothing by itself has no stream to offer.
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = JSON.parse(text) as Message;
    if (message.id === undefined) return void response.writeHead(202).end();
    response.setHeader("content-type", "application/json");
    try {
      const result = this.#result(message);
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    } catch (error) {
      const { code, message: why } =
        error instanceof RpcError ? error : new RpcError(-32_603, (error as Error).message);
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error: { code, message: why } }));
    }
  }

  #result({ method, params = {} }: Message): unknown {
    if (method === "initialize") {
      const { protocolVersion } = params as { readonly protocolVersion?: string };
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "test", version: "1" } };
    }
    if (method === "tools/list") return this.#list(Number(params.cursor ?? 0));
    if (method !== "tools/call") throw new RpcError(-32_601, `Method not found: ${method}`);
    this.asked.push(`call ${params.name}`);
    const tool = this.tools[params.name ?? ""];
    if (tool === undefined) throw new RpcError(-32_602, `Unknown tool: ${params.name}`);
    return tool.call(params.arguments ?? {});
  }

  #list(from: number): unknown {
    this.asked.push("list");
    const all = Object.entries(this.tools);
    const tools = all.slice(from, from + this.pageSize).map(([name, served]) => {
      const { call: _, ...about } = served;
      return { inputSchema: { type: "object" }, ...about, name };
    });
    const next = from + this.pageSize;
    return { tools, ...(next < all.length ? { nextCursor: String(next) } : {}) };
  }
}
