/** Two server processes on one journal. A request goes to either; one that dies is started again. */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "@durable/testing";
import { ServerProcess, type Place } from "./server-process.ts";

export interface Reply {
  readonly status: string;
  readonly runId?: string;
}

export class Fleet {
  readonly statuses: Record<string, number> = {};
  kills = 0;
  /** Requests that got no answer, because the server died under them. */
  cutOff = 0;
  readonly #place: Place;
  readonly #env: Readonly<Record<string, string>>;
  readonly #random: Random;
  readonly #servers: ServerProcess[];
  #urls: (string | null)[] = [];

  constructor(place: Place, env: Readonly<Record<string, string>>, random: Random) {
    this.#place = place;
    this.#env = env;
    this.#random = random;
    this.#servers = [0, 1].map(() => new ServerProcess(place, env));
  }

  async ready(): Promise<void> {
    this.#urls = await Promise.all(this.#servers.map((server) => server.url()));
  }

  /** Kills one of them, and starts another in its place. */
  async killOne(): Promise<void> {
    const at = this.#random.between(0, 1);
    this.#urls[at] = null;
    await this.#servers[at]?.kill();
    this.kills += 1;
    const next = new ServerProcess(this.#place, this.#env);
    this.#servers[at] = next;
    this.#urls[at] = await next.url();
  }

  /** Posts a mail like a provider: again and again until a server answers. */
  async post(email: Readonly<Record<string, unknown>>): Promise<Reply> {
    const body = JSON.stringify({ type: "email.received", email });
    for (;;) {
      const url = this.#random.pick(this.#urls);
      try {
        if (url === null) throw new TypeError("not up");
        const headers = { "content-type": "application/json" };
        const response = await fetch(`${url}/webhook`, { method: "POST", headers, body });
        const reply = (await response.json()) as Reply;
        if (response.status !== 202) throw new Error(`${response.status}: ${JSON.stringify(reply)}`);
        this.statuses[reply.status] = (this.statuses[reply.status] ?? 0) + 1;
        return reply;
      } catch (error) {
        // What fetch throws when no server listens, or no longer.
        if (!(error instanceof TypeError)) throw error;
        if (url !== null) this.cutOff += 1;
        await delay(20);
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.kill()));
  }
}
