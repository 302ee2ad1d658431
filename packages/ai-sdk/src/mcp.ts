/**
 * Tools of an MCP server whose list and calls are recorded.
 *
 * P1. The list is recorded once per run, and tools are made from the record: a server that changes does not change the
 *     prompts of a run.
 * P2. The server is asked only inside steps, so a replay does not need it.
 * P3. The form in which the model gets a result depends on the record, and not on the client.
 *
 * Proven in test/mcp.test.ts and test/mcp-lost.test.ts.
 */

import type { RetryOptions } from "@durable/core";
import { plain, stepName } from "@durable/core/clients";
import { assertOptions } from "@durable/core/storage";
import { keptError, restoredError } from "./errors.ts";
import { formsOf, toModelOutput, type Forms } from "./mcp-output.ts";
import { recorderOf } from "./recorder.ts";
import { durableTools, type ToolOptions } from "./tools.ts";
import type { Place } from "./place.ts";

/** A client of `@ai-sdk/mcp`, or of `experimental_createMCPClient` of the AI SDK 5. */
export interface MCPClient {
  // A method, so that clients with more specific options fit.
  tools(options?: never): PromiseLike<Readonly<Record<string, object>>>;
}

/** Options of `durableMCPTools`. */
export interface MCPToolsOptions {
  /** Names the server in steps and errors, for runs with several servers. */
  readonly name?: string | undefined;
  /** As for `client.tools({ schemas })`: only these tools, with these types. */
  readonly schemas?:
    | Readonly<Record<string, { readonly inputSchema: unknown; readonly outputSchema?: unknown }>>
    | undefined;
  /** Options of every tool. */
  readonly every?: ToolOptions | undefined;
  /** Options of single tools, by name. */
  readonly tools?: Readonly<Record<string, ToolOptions>> | undefined;
  /** When a failed listing is repeated. */
  readonly retry?: RetryOptions | false | undefined;
}

/** Tools of an MCP server, for `tools` of any version of the AI SDK. */
export type MCPTools = Record<
  string,
  {
    /** Of the type that the version of the SDK wants. */
    readonly inputSchema: never;
    readonly execute: (input: unknown, options: { readonly toolCallId: string }) => Promise<unknown>;
  }
>;

/** A call of a tool that reached no server, or none that has the tool. */
export class MCPToolError extends Error {
  override readonly name = "MCPToolError";
  /** `gone`: the server no longer has the tool. `unreachable`: there is no connection to the server. */
  readonly reason: "gone" | "unreachable";
  /** The tool, or `null` when the list could not be read. */
  readonly tool: string | null;

  constructor(message: string, about: Pick<MCPToolError, "reason" | "tool">, options?: ErrorOptions) {
    super(message, options);
    this.reason = about.reason;
    this.tool = about.tool;
  }

  /** True also for an error from a journal, which is of no class. */
  static isInstance(error: unknown): error is MCPToolError {
    return error instanceof Error && error.name === "MCPToolError";
  }
}

interface Listing {
  readonly tools: readonly Listed[];
  /** How the client shows results to a model; `null` when it leaves that to the SDK. */
  readonly forms: Forms | null;
}

interface Listed {
  readonly name: string;
  /** Description, title and other plain fields of the tool. */
  readonly about: Readonly<Record<string, unknown>>;
  /** JSON schema of the arguments; `null` when the program gives the schema. */
  readonly schema: unknown;
}

/**
 * The tools of an MCP server: the list is a step, and each call is. The client may be a function that connects, which is
 * called when the server is needed for the first time.
 */
export async function durableMCPTools(
  on: Place,
  client: MCPClient | (() => MCPClient | PromiseLike<MCPClient>),
  options: MCPToolsOptions = {},
): Promise<MCPTools> {
  assertOptions(options, "name schemas every tools retry", "durableMCPTools");
  const { name, every, retry } = options;
  const server = new Server(client, options);
  const listing = await listed(on, server, name, retry);
  const tools = Object.fromEntries(
    listing.tools.map((tool) => [tool.name, rebuilt(tool, listing.forms, { server, options })]),
  );
  assertOptions(
    options.tools,
    listing.tools.map((tool) => tool.name),
    "The MCP server",
    "tool",
  );
  const own = listing.tools.map((tool) => [tool.name, { ...every, ...options.tools?.[tool.name] }]);
  const durable = durableTools(on, tools, Object.fromEntries(own) as Record<string, ToolOptions>);
  return Object.fromEntries(Object.entries(durable).map(restoring)) as MCPTools;
}

async function listed(
  on: Place,
  server: Server,
  name: string | undefined,
  retry: RetryOptions | false | undefined,
): Promise<Listing> {
  const key = name === undefined ? "mcp tools" : stepName("mcp tools", name);
  try {
    return await recorderOf(on).step(key, () => server.listing(), { retry, signal: undefined });
  } catch (error) {
    throw restoredError(error);
  }
}

type Execute = (input: unknown, options: unknown) => unknown;
type Tool = Readonly<Record<string, unknown>> & { readonly execute: Execute };

interface Beside {
  readonly server: Server;
  readonly options: MCPToolsOptions;
}

/** A tool as the client makes it, from the record. */
function rebuilt({ name, about, schema }: Listed, forms: Forms | null, { server, options }: Beside): Tool {
  const given = options.schemas?.[name];
  return {
    ...about,
    ...(given ?? { inputSchema: schemaOf(schema) }),
    ...(forms === null ? {} : { toModelOutput: toModelOutput(forms) }),
    execute: async (input: unknown, call: unknown) => {
      try {
        return plain(await server.call(name, input, call));
      } catch (error) {
        throw keptError(error);
      }
    },
  };
}

/** A schema as `jsonSchema()` of the SDK makes it. */
function schemaOf(schema: unknown): object {
  const marks = ["vercel.ai.schema", "vercel.ai.validator"].map((mark) => [Symbol.for(mark), true] as const);
  return { ...Object.fromEntries(marks), _type: undefined, jsonSchema: schema, validate: undefined };
}

/** Errors of the client keep the marks of the SDK. */
function restoring([name, definition]: [string, Tool]): [string, Tool] {
  const { execute } = definition;
  const durable = async (input: unknown, call: unknown): Promise<unknown> => {
    try {
      return await execute(input, call);
    } catch (error) {
      throw restoredError(error);
    }
  };
  return [name, { ...definition, execute: durable }];
}

/** The client, connected when it is needed. */
class Server {
  readonly #client: MCPClient | (() => MCPClient | PromiseLike<MCPClient>);
  readonly #options: MCPToolsOptions;
  #tools: Promise<Readonly<Record<string, object>>> | null = null;

  constructor(client: MCPClient | (() => MCPClient | PromiseLike<MCPClient>), options: MCPToolsOptions) {
    this.#client = client;
    this.#options = options;
  }

  async listing(): Promise<Listing> {
    const tools = Object.entries(await this.#connected(null));
    const forms = formsOf(tools[0]?.[1]);
    return { tools: await Promise.all(tools.map((tool) => this.#listed(tool))), forms };
  }

  async call(name: string, input: unknown, call: unknown): Promise<unknown> {
    const tools = await this.#connected(name);
    const tool = (Object.hasOwn(tools, name) ? tools[name] : undefined) as Tool | undefined;
    if (tool !== undefined) return this.#executed(tool, input, call);
    throw new MCPToolError(`${this.#who} no longer has the tool "${name}".`, { reason: "gone", tool: name });
  }

  async #executed({ execute }: Tool, input: unknown, call: unknown): Promise<unknown> {
    try {
      return await execute(input, call);
    } catch (error) {
      // An error with a code is an answer of the server. After any other, a function may connect again.
      const answered = typeof (error as { readonly code?: unknown } | null)?.code === "number";
      if (!answered && typeof this.#client === "function") this.#tools = null;
      throw error;
    }
  }

  async #listed([name, tool]: [string, object]): Promise<Listed> {
    const { inputSchema, outputSchema: _, execute: __, toModelOutput: ___, ...about } = tool as Tool;
    const { jsonSchema } = (inputSchema ?? {}) as { readonly jsonSchema?: unknown };
    // Schemas that the program gives are code, and there in every life.
    const schema = this.#options.schemas === undefined ? (plain(await jsonSchema) ?? null) : null;
    return { name, about: plain(about) as Listed["about"], schema };
  }

  /** The tools that the server has now. A connection that failed is made again. */
  async #connected(tool: string | null): Promise<Readonly<Record<string, object>>> {
    this.#tools ??= this.#connect();
    try {
      return await this.#tools;
    } catch (error) {
      this.#tools = null;
      throw new MCPToolError(
        `${this.#who} cannot be reached.`,
        { reason: "unreachable", tool },
        { cause: keptError(error) },
      );
    }
  }

  async #connect(): Promise<Readonly<Record<string, object>>> {
    const client = typeof this.#client === "function" ? await this.#client() : this.#client;
    const { schemas } = this.#options;
    return client.tools(...((schemas === undefined ? [] : [{ schemas }]) as never[]));
  }

  get #who(): string {
    const { name } = this.#options;
    return name === undefined ? "The MCP server" : `The MCP server "${name}"`;
  }
}
