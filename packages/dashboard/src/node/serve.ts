/**
 * The dashboard on this machine: a small server on loopback, with a token of its own. Proven in test/node.test.ts.
 */

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createDashboard, type Dashboard } from "../dashboard.ts";
import { invalid } from "../errors.ts";
import type { DashboardOptions } from "../options.ts";

/** Options of `serveDashboard`. */
export interface ServeDashboardOptions extends Omit<DashboardOptions, "authorize" | "basePath"> {
  /** The port; the next free one is used if it is taken. 4777 by default, 0 for any. */
  readonly port?: number | undefined;
  /** The address to listen on; loopback by default. Any other address needs `token` and `hosts`. */
  readonly host?: string | undefined;
}

/** A dashboard that is being served. */
export interface DashboardServer {
  /** The address of the page, with the token in its fragment. */
  readonly url: string;
  /** The address without the token. */
  readonly origin: string;
  /** Ends open connections, and then the server. */
  close(): Promise<void>;
}

const firstPort = 4777;
const portsTried = 20;
const loopback = new Set(["127.0.0.1", "::1", "localhost"]);

/** Serves the dashboard on loopback, and returns the address to open. */
export async function serveDashboard(options: ServeDashboardOptions): Promise<DashboardServer> {
  const { port = firstPort, host = "127.0.0.1", ...rest } = options;
  if (!loopback.has(host) && (options.token === undefined || (options.hosts ?? []).length === 0))
    throw invalid(`serveDashboard on ${host} can be reached by others: pass { token, hosts } as well.`);
  const token = options.token ?? randomBytes(32).toString("base64url");
  const dashboard = createDashboard({ ...rest, token });
  const server = createServer((message, response) => void serve(dashboard, message, response));
  const bound = await listen(server, host, port);
  const name = host.includes(":") ? `[${host}]` : host;
  const origin = `http://${name === "0.0.0.0" || name === "[::]" ? (options.hosts?.[0] ?? name) : name}:${bound}`;
  return {
    url: `${origin}/#token=${token}`,
    origin,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  const last = port === 0 ? 0 : port + portsTried;
  for (let next = port; ; next++) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(next, host, () => {
          server.off("error", reject);
          resolve();
        });
      });
      const address = server.address();
      return typeof address === "object" && address !== null ? address.port : next;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || next >= last) throw error;
    }
  }
}

async function serve(
  dashboard: Dashboard,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  try {
    await send(await dashboard(toRequest(message, left.signal)), response);
  } catch {
    // A request that fetch cannot express, or a client that has gone.
    if (!response.headersSent) response.statusCode = 400;
    response.end();
  }
}

function toRequest(message: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/", headers } = message;
  const given = new Headers();
  for (const [name, value] of Object.entries(headers)) given.set(name, [value ?? ""].flat().join(", "));
  // Concatenated as text, because `//elsewhere/x` is a path here and must not become a host.
  const target = new URL(`http://localhost${url.startsWith("/") ? url : "/"}`);
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(target, {
    method,
    headers: given,
    signal,
    ...(hasBody ? { body: bodyOf(message), duplex: "half" } : {}),
  });
}

function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = message.iterator() as AsyncIterableIterator<Uint8Array>;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: async () => {
      await chunks.return?.();
    },
  });
}

/** Sends as fast as the client takes it. */
async function send(reply: Response, response: ServerResponse): Promise<void> {
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  if (reply.body === null) return void response.end();
  const reader = reply.body.getReader();
  response.once("close", () => void reader.cancel().catch(() => {}));
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return void response.end();
    if (!response.write(value) && !response.destroyed)
      await new Promise<void>((resolve) => {
        response.once("drain", resolve);
        response.once("close", resolve);
      });
  }
}
