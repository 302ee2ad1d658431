/** A fetch handler on node:http: streaming bodies both ways, abort on disconnect, limits, graceful close. */

import type { IncomingMessage, ServerResponse } from "node:http";

type Handler = (request: Request) => Promise<Response> | Response;

export interface ServeOptions {
  /** 0, a free one, by default. */
  readonly port?: number;
  /** "127.0.0.1" by default: nobody outside this machine. */
  readonly hostname?: string;
  /** Connections at the same time; 1,000 by default. */
  readonly maxConnections?: number;
  /** Milliseconds `close` waits for requests under way; 10,000 by default. */
  readonly closeMs?: number;
  /** Hears of handlers that threw. */
  readonly onError?: (error: unknown) => void;
}

export interface Server {
  readonly port: number;
  readonly hostname: string;
  /** "http://127.0.0.1:8000" */
  readonly url: string;
  /** Takes no more requests, lets those under way end, ends streams. */
  close(): Promise<void>;
}

export function serve(_handler: Handler, _options: ServeOptions = {}): Promise<Server> {
  throw new Error("to come");
}

/** The handler for what speaks Node's own requests: `http.createServer`, Express, Fastify's `raw`. */
export function nodeListener(
  _handler: Handler,
  _options: Pick<ServeOptions, "onError"> = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  throw new Error("to come");
}
