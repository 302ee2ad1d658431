/** Worker processes that a script or a test starts, measures, stops and kills. */
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ChildOptions } from "./worker.ts";

const program = fileURLToPath(new URL("worker.ts", import.meta.url));
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/node-compile", import.meta.url));

export class FleetWorker {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly exit: Promise<number | null>;
  readonly complaints: string[] = [];
  #tell: () => void = () => {};
  #ended = false;

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  get isUp(): boolean {
    return !this.#ended && this.#lines.includes("up");
  }

  constructor(url: string, log: string, options: ChildOptions = {}) {
    const args = ["--conditions=durable-source", "--expose-gc", program, url, log, JSON.stringify(options)];
    this.#child = spawn(process.execPath, args, {
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const [stream, into] of [
      [this.#child.stdout, this.#lines],
      [this.#child.stderr, this.complaints],
    ] as const)
      createInterface({ input: stream as NodeJS.ReadableStream }).on("line", (line) => {
        into.push(line);
        this.#tell();
      });
    this.exit = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        this.#ended = true;
        this.#tell();
        resolve(code);
      });
    });
  }

  async up(): Promise<void> {
    await this.#until("up", 0);
  }

  /** Kilobytes of the heap, after a collection. */
  async heap(): Promise<number> {
    const seen = this.#lines.length;
    this.#child.kill("SIGUSR2");
    return Number((await this.#until("heap", seen)).split(" ")[1]);
  }

  async #until(word: string, from: number): Promise<string> {
    for (;;) {
      const line = this.#lines.slice(from).find((said) => said.startsWith(word));
      if (line !== undefined) return line;
      if (this.#ended) throw new Error(`A worker ended: ${this.complaints.join("\n")}`);
      await new Promise<void>((resolve) => (this.#tell = resolve));
    }
  }

  /** SIGTERM: resolves with the exit code when it has handed over its runs. */
  stop(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    return this.exit;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exit;
  }
}

/** Calls `work` for every item, many at a time: their writes share commits. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const lane = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Repeats work that fails while the database is away. */
export async function persist<T>(work: () => Promise<T>, untilMs: number): Promise<T> {
  const until = Date.now() + untilMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > until) throw error;
      await pause(50 + Math.random() * 100);
    }
  }
}

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
