/** Worker processes that a test starts, listens to, and kills. */

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { WorkerOptions } from "../../src/index.ts";
import type { Doing } from "./worker-flows.ts";

const program = fileURLToPath(new URL("./worker-child.ts", import.meta.url));
const compileCache = fileURLToPath(new URL("../../../../node_modules/.cache/node-compile", import.meta.url));

export class WorkerProcess {
  readonly #child: ChildProcess;
  /** What it said, and what it complained of. */
  readonly lines: string[] = [];
  readonly complaints: string[] = [];
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  #ended = false;
  #tell: () => void = () => {};

  /** `flags` are for Node itself. */
  constructor(
    path: string,
    doing: Doing,
    options: Omit<WorkerOptions, "onStop"> = {},
    flags: readonly string[] = [],
  ) {
    const given = [path, JSON.stringify(doing), JSON.stringify(options)];
    const args = ["--conditions=durable-source", ...flags, program, ...given];
    this.#child = spawn(process.execPath, args, {
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#listen(this.#child.stdout as NodeJS.ReadableStream, this.lines);
    this.#listen(this.#child.stderr as NodeJS.ReadableStream, this.complaints);
    this.exit = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        this.#ended = true;
        this.#tell();
        resolve({ code, signal });
      });
    });
    onTestFinished(() => this.kill());
  }

  #listen(stream: NodeJS.ReadableStream, into: string[]): void {
    createInterface({ input: stream }).on("line", (line) => {
      into.push(line);
      this.#tell();
    });
  }

  /** Waits until it has said enough. Rejects when it ends before. */
  async until(enough: () => boolean): Promise<void> {
    while (!enough()) {
      if (this.#ended) throw new Error(`The worker ended: ${[...this.lines, ...this.complaints].join("\n")}`);
      await new Promise<void>((resolve) => (this.#tell = resolve));
    }
  }

  /** How often a drive stopped like this. */
  stops(status: string): number {
    return this.lines.filter((line) => line.startsWith(`stop ${status} `)).length;
  }

  /** Megabytes resident before the storage was opened and now, and the runs it drives. */
  async memory(): Promise<{ readonly before: number; readonly now: number; readonly active: number }> {
    const seen = this.lines.length;
    this.signal("SIGUSR2");
    const said = (): string | undefined => this.lines.slice(seen).find((line) => line.startsWith("rss "));
    await this.until(() => said() !== undefined);
    const [before = 0, now = 0, active = 0] = (said() ?? "").split(" ").slice(1).map(Number);
    return { before, now, active };
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exit;
  }
}
