/** The server of the example in a process of its own, on one port over all its lives. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { DemoProcess } from "example-llm/process";

export class Site {
  readonly folder = mkdtempSync(join(tmpdir(), "chat-"));
  readonly #pace: number;
  /** What the offline model says in this life. */
  usesOtherWords = true;
  #port = 0;
  #process: DemoProcess | null = null;

  /** `pace` of the offline model: 1 is lifelike. */
  constructor(pace: number) {
    this.#pace = pace;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Every life of the server has other words than the one before, as a real model would. */
  async start(): Promise<void> {
    this.usesOtherWords = !this.usesOtherWords;
    this.#port ||= await freePort();
    const place = { example: "chat", folder: this.folder, effectsPath: join(this.folder, "effects.txt") };
    const words = this.usesOtherWords ? "other" : "first";
    const env = { PORT: String(this.#port), DEMO_PACE: String(this.#pace), DEMO_WORDS: words };
    this.#process = new DemoProcess(place, { env });
    if (await this.#process.printed(`${this.url}\n`)) return;
    const { out, err } = await this.#process.ended;
    throw new Error(`the server did not start: ${out}${err}`);
  }

  /** Like `kill -9`. */
  async kill(): Promise<void> {
    await this.#process?.kill();
    this.#process = null;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** E-mails that left. */
  mails(): string[] {
    const outbox = join(this.folder, "outbox");
    return existsSync(outbox)
      ? readdirSync(outbox).map((name) => readFileSync(join(outbox, name), "utf8"))
      : [];
  }

  /** The scores that runs have. */
  async scores(): Promise<unknown[]> {
    const storage = new SqliteStorage(join(this.folder, "journal.db"));
    const app = createApp({ storage, workflows: [], bind: false });
    try {
      return (await app.list()).runs.flatMap(({ scores }) => (scores === undefined ? [] : [scores]));
    } finally {
      await app.close();
      await storage.close();
    }
  }

  /** Calls of the tool, repeated ones included. */
  calls(): number {
    const file = join(this.folder, "effects.txt");
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
