/**
 * Kills the agent at an instant, starts it again, and checks:
 *
 * K1. It comes to its end, with the answer that is recorded.
 * K2. A call of a tool that was recorded when a process started is not run by it.
 * K3. Each effect happens once, at a receiver that recognizes repetitions by their idempotency key.
 * K4. The provider is called at most once more than without the kill.
 *
 * Instants are counted in what the world sees of the agent: events that the provider sent, and requests of its tools,
 * before and after they are answered.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { SqliteStorage } from "@durable/core/sqlite";
import { Provider, type Heard, type Said } from "./provider.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const program = fileURLToPath(new URL("./agent-child.ts", import.meta.url));
const living = new Set<ChildProcess>();

/** Books and pays at once, books again, and reports. */
export const ideal = { calls: 3, effects: 3 };

function traveller({ results, number }: Heard): Said {
  if (results === 0) {
    const calls = ["book", "pay"].map((tool) => ({ tool, input: { what: `the ${tool}ing of a train` } }));
    return { text: "I will book a train and pay for it.", calls };
  }
  if (results === 2) return { text: "Now a bed.", calls: [{ tool: "book", input: { what: "a bed" } }] };
  return { text: `All is booked and paid, says answer ${number} of the model.` };
}

export interface Killed {
  /** The number of instants until the end. */
  readonly instants: number;
  readonly killed: boolean;
  readonly calls: number;
  /** Requests of tools, including repetitions. */
  readonly requests: number;
  /** Steps that the second process found recorded. */
  readonly reused: number;
}

/** Kills it at that instant, counted from 1; 0 means no kill. */
export async function killAt(instant: number): Promise<Killed> {
  const folder = mkdtempSync(join(tmpdir(), "ai-sdk-kill-"));
  const journal = join(folder, "journal.db");
  const provider = await Provider.open(traveller);
  provider.paceMs = 4;
  let seen = 0;
  let child: ChildProcess | null = null;
  const happened = (): void => {
    seen += 1;
    if (seen === instant) child?.kill("SIGKILL");
  };
  provider.onEvent = happened;
  const receiver = await Receiver.open(happened);
  const run = (): Promise<{ readonly code: number | null; readonly out: string }> => {
    child = start([journal, provider.url, receiver.url]);
    return ended(child);
  };
  try {
    let end = await run();
    const killed = end.code === null;
    const recorded = killed ? toolsIn(await entriesOf(journal)) : [];
    const before = receiver.requests.length;
    if (killed) end = await run();
    if (end.code !== 0) throw new Error(`K1: instant ${instant} ended with ${end.code}: ${end.out}`);
    if (!/^All is booked and paid, says answer \d of the model\.$/.test(end.out.trim()))
      throw new Error(`K1: instant ${instant}: ${end.out}`);
    const again = receiver.requests.slice(before).filter(({ call }) => recorded.includes(call));
    if (again.length > 0) throw new Error(`K2: instant ${instant}: ${JSON.stringify(again)} ran again`);
    if (receiver.effects.size !== ideal.effects)
      throw new Error(`K3: instant ${instant}: ${receiver.effects.size} effects`);
    const calls = provider.requests.length;
    if (calls > ideal.calls + (killed ? 1 : 0)) throw new Error(`K4: instant ${instant}: ${calls} calls`);
    return { instants: seen, killed, calls, requests: receiver.requests.length, reused: recorded.length };
  } finally {
    await provider.close();
    await receiver.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Kills the processes that are left. */
export function killAll(): void {
  for (const child of living) child.kill("SIGKILL");
}

function start(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, ["--conditions=durable-source", program, ...args], {
    cwd: root,
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node-compile") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  living.add(child);
  return child;
}

function ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly out: string }> {
  let out = "";
  child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  return new Promise((resolve) => {
    child.once("close", (code) => {
      living.delete(child);
      resolve({ code, out });
    });
  });
}

async function entriesOf(journal: string): Promise<Entry[]> {
  const storage = new SqliteStorage(journal);
  try {
    return await createApp({ storage, workflows: [] }).get("trip").entries();
  } catch (error) {
    // Killed before its first entry.
    if ((error as { code?: unknown }).code === "not-found") return [];
    throw error;
  } finally {
    await storage.close();
  }
}

function toolsIn(entries: readonly Entry[]): string[] {
  return entries.flatMap((entry) => (entry.kind === "step.completed" ? [entry.key] : []));
}

/** Makes an effect once for each key, however often it is requested. */
class Receiver {
  readonly requests: { readonly key: string; readonly call: string }[] = [];
  readonly effects = new Map<string, string>();
  readonly #server;

  private constructor(happened: () => void) {
    this.#server = createServer((request, response) => {
      const [key, call] = [String(request.headers["idempotency-key"]), String(request.headers["x-call"])];
      this.requests.push({ key, call });
      this.effects.set(key, this.effects.get(key) ?? call);
      happened();
      setTimeout(() => {
        response.end(`done ${this.effects.size}`);
        happened();
      }, 5);
    });
  }

  static async open(happened: () => void): Promise<Receiver> {
    const receiver = new Receiver(happened);
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
