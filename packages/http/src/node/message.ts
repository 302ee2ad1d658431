/** Node's own requests and responses as those of fetch, and back. */

import type { IncomingMessage, ServerResponse } from "node:http";

export interface Incoming {
  readonly request: Request;
  /** What is left of the body goes by unread, for as long as that may take. Whoever wants some of it gets an error. */
  letBy(ms: number): Promise<void>;
}

/** A request of fetch; throws what fetch has no word for. `origin` stands for the server: Host is the client's word. */
export function toRequest(message: IncomingMessage, origin: string, signal: AbortSignal): Incoming {
  const { method = "GET" } = message;
  const hasBody = method !== "GET" && method !== "HEAD" && isLong(message);
  const body = hasBody ? bodyOf(message) : null;
  // The body of a request that may not have one is let go by.
  if (body === null) message.resume();
  const request = new Request(urlOf(message, origin), {
    method,
    headers: headersOf(message.rawHeaders),
    signal,
    ...(body === null ? {} : { body: body.stream, duplex: "half" }),
  });
  const letBy = (ms: number): Promise<void> => {
    body?.letGo();
    return ended(message, ms);
  };
  return { request, letBy };
}

function isLong({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Put together as text: `//elsewhere/x` is a path here, and must not become an address. */
function urlOf(message: IncomingMessage, origin: string): URL {
  // Express cuts off where it is mounted.
  const { originalUrl, url = "/" } = message as IncomingMessage & { originalUrl?: string };
  const target = originalUrl ?? url;
  if (target.startsWith("/")) return new URL(origin + target);
  const { pathname, search } = new URL(target);
  return new URL(origin + pathname + search);
}

/** As they came, so that a header that was sent twice is seen to be two. */
function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let i = 0; i + 1 < raw.length; i += 2) headers.append(raw[i] as string, raw[i + 1] as string);
  return headers;
}

function bodyOf(message: IncomingMessage): { stream: ReadableStream<Uint8Array>; letGo(): void } {
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
          // Bytes of its own: Node's may be part of a larger block.
          controller.enqueue(new Uint8Array(chunk));
        });
        message.on("end", () => finish(() => controller.close()));
        message.on("error", fail);
        message.on("close", () => fail?.(new Error("The client went away.")));
      },
      pull: () => void message.resume(),
      cancel: () => finish(() => {}),
    },
    { highWaterMark: 0 },
  );
  const letGo = (): void => {
    fail?.(new Error("The request has been answered."));
    message.resume();
  };
  return { stream, letGo };
}

/** Settles when the message is complete, when the client goes, or after a while. */
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

/** Sends all of a response but its end, as fast as the client takes it, until it is out or the client goes. */
export async function send(response: Response, message: ServerResponse): Promise<void> {
  message.statusCode = response.status;
  for (const [name, value] of response.headers) if (name !== "set-cookie") message.setHeader(name, value);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) message.setHeader("set-cookie", cookies);
  if (response.body === null || message.req.method === "HEAD") return response.body?.cancel();
  message.flushHeaders();
  const reader = response.body.getReader();
  // A read that waits ends with it.
  const stop = (): void => void reader.cancel().catch(() => {});
  message.once("close", stop);
  for (;;) {
    const { done, value } = await reader.read();
    if (done || message.destroyed) return;
    if (!message.write(value)) await drained(message);
  }
}

/** Settles when the client has taken what was sent, or has gone. */
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
