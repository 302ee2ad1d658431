/** A chat whose server is another process, which can be killed and started again on the same journal. */

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Provider, type Heard, type Said } from "../../../packages/ai-sdk/test/support/provider.ts";
import { RealChat, reconnecting, Wire } from "../../../packages/ai-sdk/test/support/real-chat.ts";

export const secret = "SoYi7qPpiBsm1QGmyS9d0WNVnE9pYBYNZ4ZxP2VpL0g";
const root = fileURLToPath(new URL("../../..", import.meta.url));
const program = fileURLToPath(new URL("./approved-chat-child.ts", import.meta.url));

/** Asks to pay, and says at the end that it is done. */
const script = ({ results }: Heard): Said =>
  results === 0
    ? { text: "I will pay.", calls: [{ tool: "pay", input: { amount: 40 }, id: "call_pay" }] }
    : { text: "It is paid, and that is the end." };

export class ApprovedChat {
  readonly journal: string;
  readonly chat: RealChat;
  readonly #provider: Provider;
  readonly #effects: string;
  readonly #wire = new Wire("");
  #child: ChildProcess | null = null;
  /** Where the server is now. */
  url = "";

  private constructor(provider: Provider, folder: string) {
    this.#provider = provider;
    this.journal = join(folder, "runs.db");
    this.#effects = join(folder, "effects.txt");
    this.chat = new RealChat(this.#wire, { transport: reconnecting(this.#wire) });
  }

  static async open(folder: string): Promise<ApprovedChat> {
    const chat = new ApprovedChat(await Provider.open(script), folder);
    await chat.start();
    return chat;
  }

  async start(): Promise<void> {
    const args = [program, this.journal, this.#provider.url, this.#effects];
    const child = spawn(process.execPath, ["--conditions=durable-source", ...args], {
      cwd: root,
      env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node-compile") },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    this.url = await new Promise((resolve) =>
      child.stdout.once("data", (text: Buffer) => resolve(text.toString().trim())),
    );
    this.#wire.api = `${this.url}/api/chat`;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    const gone = new Promise((resolve) => child?.once("exit", resolve));
    child?.kill("SIGKILL");
    await gone;
  }

  /** How often the provider was asked. */
  get asked(): number {
    return this.#provider.requests.length;
  }

  /** What the tool and its notification did, a line each. */
  get effects(): string[] {
    return existsSync(this.#effects) ? readFileSync(this.#effects, "utf8").split("\n").slice(0, -1) : [];
  }

  async close(): Promise<void> {
    await this.kill();
    await this.#provider.close();
  }
}
