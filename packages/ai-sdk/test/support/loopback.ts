/** A server of a test, on loopback: opened on a free port, and closed with all its connections. */

import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export class Loopback {
  readonly #server;

  constructor(answer: RequestListener) {
    this.#server = createServer(answer);
  }

  listen(port = 0): Promise<void> {
    return new Promise((resolve) => void this.#server.listen(port, "127.0.0.1", resolve));
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
