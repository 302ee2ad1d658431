/** Other processes: programs of this folder, run by the same Node straight from TypeScript. */

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A command that the program is run under. */
  readonly under?: readonly string[];
}

/** The programs there are. Named one by one, so that tools see who uses them. */
const programs = {
  "direct-child.ts": new URL("../standalone/support/child.ts", import.meta.url),
  "remote-child.ts": new URL("../adapters/remote/support/child.ts", import.meta.url),
  "sqlite-child-backup.ts": new URL("../adapters/sqlite/support/child-backup.ts", import.meta.url),
  "sqlite-child-boot.ts": new URL("../adapters/sqlite/support/child-boot.ts", import.meta.url),
  "sqlite-child-default.ts": new URL("../adapters/sqlite/support/child-default.ts", import.meta.url),
  "sqlite-child-deleted.ts": new URL("../adapters/sqlite/support/child-deleted.ts", import.meta.url),
  "sqlite-child-driver.ts": new URL("../adapters/sqlite/support/child-driver.ts", import.meta.url),
  "sqlite-child-flow.ts": new URL("../adapters/sqlite/support/child-flow.ts", import.meta.url),
  "sqlite-child-full.ts": new URL("../adapters/sqlite/support/child-full.ts", import.meta.url),
  "sqlite-child-images.ts": new URL("../adapters/sqlite/support/child-images.ts", import.meta.url),
  "sqlite-child-lock.ts": new URL("../adapters/sqlite/support/child-lock.ts", import.meta.url),
  "sqlite-child-migrate.ts": new URL("../adapters/sqlite/support/child-migrate.ts", import.meta.url),
  "sqlite-child-purge.ts": new URL("../adapters/sqlite/support/child-purge.ts", import.meta.url),
  "sqlite-child-race.ts": new URL("../adapters/sqlite/support/child-race.ts", import.meta.url),
  "sqlite-child-readonly.ts": new URL("../adapters/sqlite/support/child-readonly.ts", import.meta.url),
  "sqlite-child-writer.ts": new URL("../adapters/sqlite/support/child-writer.ts", import.meta.url),
  "stream-child.ts": new URL("../engine/calls/support/stream-child.ts", import.meta.url),
  "uncaught-child.ts": new URL("../ports/support/uncaught-child.ts", import.meta.url),
};

/** Stripped and compiled sources, by content: a child starts in a third of the time. */
const compileCache = fileURLToPath(new URL("../../../../node_modules/.cache/node-compile", import.meta.url));

const living = new Set<Child>();

export class Child {
  readonly process: ChildProcess;
  /** What it printed so far. */
  readonly lines: string[] = [];
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  #errors = "";
  #ended = false;
  #tell: () => void = () => {};

  constructor(program: keyof typeof programs, args: readonly string[] = [], options: ChildOptions = {}) {
    const file = fileURLToPath(programs[program]);
    const [command = "", ...rest] = [
      ...(options.under ?? []),
      process.execPath,
      "--conditions=durable-source",
      file,
      ...args,
    ];
    this.process = spawn(command, rest, {
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      stdio: ["pipe", "pipe", "pipe"],
    });
    living.add(this);
    this.process.stderr?.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));
    this.process.stdin?.on("error", () => {});
    const reader = createInterface({ input: this.process.stdout as NodeJS.ReadableStream });
    reader.on("line", (line) => {
      this.lines.push(line);
      this.#tell();
    });
    const read = new Promise((resolve) => reader.once("close", resolve));
    this.exit = new Promise((resolve) => {
      this.process.once("close", (code, signal) => {
        living.delete(this);
        void read.then(() => {
          this.#ended = true;
          this.#tell();
          resolve({ code, signal });
        });
      });
    });
  }

  /** The first line, from `from` on, that begins like this. Rejects when the program ends without it. */
  async line(begins: string, from = 0): Promise<string> {
    for (let at = from; ; at++) {
      while (at >= this.lines.length) {
        if (this.#ended) throw new Error(`No "${begins}" from the child: ${this.said}`);
        await new Promise<void>((resolve) => (this.#tell = resolve));
      }
      const line = this.lines[at] as string;
      if (line.startsWith(begins)) return line.slice(begins.length).trim();
    }
  }

  /** Everything it said, for error messages. */
  get said(): string {
    return [...this.lines, this.#errors].join("\n");
  }

  send(text: string): void {
    this.process.stdin?.write(`${text}\n`);
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exit;
  }

  /** Waits for its end, which must be a good one. */
  async done(): Promise<string[]> {
    const { code } = await this.exit;
    if (code !== 0) throw new Error(`The child ended with ${code}: ${this.said}`);
    return this.lines;
  }
}

/** Ends whatever a test left behind. */
export async function killChildren(): Promise<void> {
  await Promise.all([...living].map((child) => child.kill()));
}
