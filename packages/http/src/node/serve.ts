/**
 * A fetch handler on node:http: streaming bodies both ways, abort on disconnect, limits, graceful close. A
 * bad request gets at worst a 4xx; a handler that throws is a server error. Proven in test/node.test.ts.
 */

import type { Duration } from "@durable/core";
import { assertOptions, toMs } from "@durable/core/storage";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Incoming, send, toRequest } from "./message.ts";

/** Any fetch handler: this library's, or a framework's. */
type FetchHandler = (request: Request) => Promise<Response> | Response;

/** Options of `serve`. */
export interface ServeOptions {
  /** A free port by default. */
  readonly port?: number | undefined;
  /** "127.0.0.1" by default: not reachable from other machines. */
  readonly hostname?: string | undefined;
  /** Connections at the same time; 1,000 by default. */
  readonly maxConnections?: number | undefined;
  /** Time in which a request must arrive, its body included; "30s" by default. */
  readonly requestTimeout?: Duration | undefined;
  /** How long `close` waits for requests under way; "10s" by default. */
  readonly closeTimeout?: Duration | undefined;
  /** Called with what a handler threw; by default it is written to stderr. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A running server. */
export interface Server {
  readonly port: number;
  readonly hostname: string;
  /** "http://127.0.0.1:8000" */
  readonly url: string;
  /**
   * Accepts no more requests, finishes those under way, and closes streams: their clients connect again
   * elsewhere.
   */
  close(): Promise<void>;
}

/** Serves a handler with Node's HTTP server until it is closed. */
export async function serve(handler: FetchHandler, options: ServeOptions = {}): Promise<Server> {
  assertOptions(options, "port hostname maxConnections requestTimeout closeTimeout onError", "serve");
  const { port = 0, hostname = "127.0.0.1", onError = console.error } = options;
  const requestMs = toMs(options.requestTimeout ?? 30_000, "requestTimeout of serve");
  const closeMs = toMs(options.closeTimeout ?? 10_000, "closeTimeout of serve");
  const open = new Set<Exchange>();
  let origin = "http://localhost";
  const server = createServer(
    {
      maxHeaderSize: 16 * 1024,
      headersTimeout: Math.min(10_000, requestMs),
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(1_000, requestMs),
    },
    (request, response) => {
      const exchange = new Exchange(request, response);
      open.add(exchange);
      void exchange.run(handler, origin, onError).finally(() => open.delete(exchange));
    },
  );
  server.maxConnections = options.maxConnections ?? 1_000;
  server.listen(port, hostname);
  // Rejects when the port is in use.
  await once(server, "listening");
  server.on("error", onError);
  const bound = (server.address() as AddressInfo).port;
  origin = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${bound}`;
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    server.closeIdleConnections();
    for (const exchange of open) exchange.leave();
    const cut = setTimeout(() => {
      for (const exchange of open) exchange.abort();
      server.closeAllConnections();
    }, closeMs);
    await closed;
    clearTimeout(cut);
  };
  return { port: bound, hostname, url: origin, close };
}

/** A request of `node:http`. Described by its form, so that programs for a browser need no types of Node. */
export interface NodeRequest {
  readonly headers: object;
  readonly complete: boolean;
  readonly url?: string | undefined;
}

/** Its response. */
export interface NodeResponse {
  readonly headersSent: boolean;
  readonly writableFinished: boolean;
  setHeader(name: string, value: string): unknown;
}

/** Adapts a handler to Node's own requests: for `http.createServer`, Express, and `raw` of Fastify. */
export function nodeListener(
  handler: FetchHandler,
  { onError = console.error }: Pick<ServeOptions, "onError"> = {},
): (request: NodeRequest, response: NodeResponse) => void {
  return (request, response) => {
    const exchange = new Exchange(request as IncomingMessage, response as ServerResponse);
    void exchange.run(handler, "http://localhost", onError);
  };
}

/** One request and its response. */
class Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #gone = new AbortController();
  #incoming: Incoming | null = null;
  #streaming = false;
  #leaving = false;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    response.once("close", () => {
      if (!response.writableFinished) this.abort();
    });
    // A disconnect is not an error; the handler learns of it through the signal.
    request.on("error", () => {});
    response.on("error", () => {});
  }

  abort(): void {
    this.#gone.abort();
  }

  /** The server is closing: streams, which might never end, end now. */
  leave(): void {
    this.#leaving = true;
    if (!this.#response.headersSent) this.#response.setHeader("connection", "close");
    if (this.#streaming) this.abort();
  }

  async run(handler: FetchHandler, origin: string, onError: (error: unknown) => void): Promise<void> {
    try {
      const response = await this.#answer(handler, origin, onError);
      if (this.#response.destroyed) return await response.body?.cancel();
      this.#streaming = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
      if (this.#leaving) this.#response.setHeader("connection", "close");
      if (this.#streaming && this.#leaving) this.abort();
      await send(response, this.#response);
      // A client that is still sending may not read the response if the connection ends at once.
      if (!this.#request.complete) await this.#incoming?.discardBody(lingerMs);
      // An idle connection would keep the server open, and an endless body would be read forever.
      const last = this.#leaving || !this.#request.complete;
      const { socket } = this.#request;
      this.#response.end(() => last && socket.destroySoon());
    } catch (error) {
      // The head is already sent, so all that is left is to cut the response.
      onError(error);
      this.#response.destroy();
    }
  }

  async #answer(handler: FetchHandler, origin: string, onError: (error: unknown) => void): Promise<Response> {
    try {
      this.#incoming = toRequest(this.#request, origin, this.#gone.signal);
    } catch {
      return plain(400, "invalid-request", "The request is invalid.");
    }
    try {
      return await handler(this.#incoming.request);
    } catch (error) {
      onError(error);
      return plain(500, "internal", "The request failed on the server. The reason is in the server's log.");
    }
  }
}

/** How long an unread rest of a body is discarded, in milliseconds. */
const lingerMs = 500;

function plain(status: number, code: string, message: string): Response {
  return Response.json({ error: { code, message } }, { status, headers: { "cache-control": "no-store" } });
}
