/** Converts Node's requests and responses to those of fetch, and back. Proven in test/node-body.test.ts. */

import type { IncomingMessage, ServerResponse } from "node:http";

export interface Incoming {
  readonly request: Request;
  /** Discards the rest of the body, for at most this long. A reader of the body gets an error. */
  discardBody(ms: number): Promise<void>;
}

/**
 * A fetch Request; throws for what fetch cannot express. The URL uses `origin`, because the client controls
 * Host.
 */
export function toRequest(message: IncomingMessage, origin: string, signal: AbortSignal): Incoming {
  const { method = "GET" } = message;
  const hasBody = method !== "GET" && method !== "HEAD" && isLong(message);
  const body = hasBody ? bodyOf(message) : null;
  // The body of a GET or HEAD request is discarded.
  if (body === null) message.resume();
  const request = new Request(urlOf(message, origin), {
    method,
    headers: headersOf(message.rawHeaders),
    signal,
    ...(body === null ? {} : { body: body.stream, duplex: "half" }),
  });
  const discardBody = (ms: number): Promise<void> => {
    body?.discard();
    return ended(message, ms);
  };
  return { request, discardBody };
}

function isLong({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Concatenated as text, because `//elsewhere/x` is a path here and must not become a host. */
function urlOf(message: IncomingMessage, origin: string): URL {
  // Express removes the mount path from `url`.
  const { originalUrl, url = "/" } = message as IncomingMessage & { originalUrl?: string };
  const target = originalUrl ?? url;
  if (target.startsWith("/")) return new URL(origin + target);
  const { pathname, search } = new URL(target);
  return new URL(origin + pathname + search);
}

/** As received, so that a repeated header stays visible. */
function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let i = 0; i + 1 < raw.length; i += 2) headers.append(raw[i] as string, raw[i + 1] as string);
  return headers;
}

function bodyOf(message: IncomingMessage): { stream: ReadableStream<Uint8Array>; discard(): void } {
  let over = false;
  let fail: ((error: Error) => void) | undefined;
  const finish = (last: () => void): void => {
    if (!over) last();
    over = true;
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        fail = (error) => finish(() => controller.error(error));
        message.pause();
        message.on("data", (chunk: Uint8Array) => {
          if (over) return;
          message.pause();
          // Copied, because Node's buffer may be part of a larger block.
          controller.enqueue(new Uint8Array(chunk));
        });
        message.on("end", () => finish(() => controller.close()));
        message.on("error", fail);
        message.on("close", () => fail?.(new Error("The client disconnected.")));
      },
      pull: () => void message.resume(),
      cancel: () => finish(() => {}),
    },
    { highWaterMark: 0 },
  );
  const discard = (): void => {
    fail?.(new Error("The request has been answered."));
    message.resume();
  };
  return { stream, discard };
}

/** Settles when the message is complete, when the client disconnects, or after a while. */
function ended(message: IncomingMessage, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      message.off("end", done);
      message.off("close", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    message.on("end", done);
    message.on("close", done);
    if (message.destroyed) done();
  });
}

/**
 * Sends a response except its end, as fast as the client takes it, until it is sent or the client
 * disconnects.
 */
export async function send(response: Response, message: ServerResponse): Promise<void> {
  message.statusCode = response.status;
  for (const [name, value] of response.headers) if (name !== "set-cookie") message.setHeader(name, value);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) message.setHeader("set-cookie", cookies);
  if (response.body === null || message.req.method === "HEAD") return response.body?.cancel();
  message.flushHeaders();
  const reader = response.body.getReader();
  // A pending read ends with it.
  const stop = (): void => void reader.cancel().catch(() => {});
  message.once("close", stop);
  for (;;) {
    const { done, value } = await reader.read();
    if (done || message.destroyed) return;
    if (!message.write(value)) await drained(message);
  }
}

/** Settles when the client has taken the data or disconnected. */
function drained(message: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      message.off("drain", done);
      message.off("close", done);
      resolve();
    };
    message.on("drain", done);
    message.on("close", done);
    if (message.destroyed) done();
  });
}
