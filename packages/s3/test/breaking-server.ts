/** A small store over HTTP on this machine whose connections break on order: one fault for each request, then none. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * `unread`: reset before the request is done. `lost`: done, and reset before the answer. `cut`: done, and reset in the
 * middle of the answer's body. `silent`: never answered.
 */
export type Fault = "unread" | "lost" | "cut" | "silent";

export interface BreakingServer {
  readonly endpoint: string;
  readonly host: string;
  readonly objects: Map<string, string>;
  /** `METHOD key` of each request, in order. */
  readonly requests: string[];
  /** What happens to the next requests that fit, in order. */
  break(faults: readonly Fault[], fits?: RegExp): void;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

const bucket = "/journal/";

export async function startBreakingServer(): Promise<BreakingServer> {
  const objects = new Map<string, string>();
  const requests: string[] = [];
  let faults: Fault[] = [];
  let fits = /^/;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "", "http://localhost");
    const key = decodeURIComponent(url.pathname.slice(bucket.length));
    const asked = `${request.method} ${key}`;
    requests.push(asked);
    const fault = fits.test(asked) ? faults.shift() : undefined;
    if (fault === "unread") return void request.socket.resetAndDestroy();
    const { status, body } = answerTo(request, key, await textOf(request), objects);
    if (fault === "lost") return void request.socket.resetAndDestroy();
    if (fault === "silent") return;
    const padded = fault === "cut" ? `${body}${" ".repeat(64)}` : body;
    response.writeHead(status, { "content-length": Buffer.byteLength(padded), etag: '"1"' });
    if (fault !== "cut") return void response.end(body);
    response.write(body.slice(0, Math.ceil(body.length / 2)) || " ");
    // The head and half of the body are on their way before the connection goes.
    setTimeout(() => request.socket.resetAndDestroy(), 20);
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint: `http://${host}`,
    host,
    objects,
    requests,
    break: (next, which = /^/) => {
      faults = [...next];
      fits = which;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function answerTo(
  { method, headers }: IncomingMessage,
  key: string,
  text: string,
  objects: Map<string, string>,
): Answer {
  if (method === "PUT") {
    if (headers["if-none-match"] === "*" && objects.has(key))
      return { status: 412, body: "<Error><Code>PreconditionFailed</Code></Error>" };
    objects.set(key, text);
    return { status: 200, body: "" };
  }
  if (method === "DELETE") {
    objects.delete(key);
    return { status: 204, body: "" };
  }
  if (key === "") {
    const keys = [...objects.keys()].toSorted().map((each) => `<Key>${encodeURIComponent(each)}</Key>`);
    return { status: 200, body: `<ListBucketResult>${keys.join("")}</ListBucketResult>` };
  }
  const found = objects.get(key);
  if (found === undefined) return { status: 404, body: "<Error><Code>NoSuchKey</Code></Error>" };
  return { status: 200, body: found };
}
