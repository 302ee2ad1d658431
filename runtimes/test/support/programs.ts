/** Programs of this folder, each a process of its own, run by the same Node straight from TypeScript. */

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const programs = {
  "consumer.ts": new URL("./consumer.ts", import.meta.url),
  "queue-server.ts": new URL("./queue-server.ts", import.meta.url),
};
const living = new Set<ChildProcess>();

export class Program {
  readonly lines: string[] = [];
  readonly #process: ChildProcess;
  #errors = "";
  #ended = false;
  #tell: (() => void)[] = [];

  constructor(program: keyof typeof programs, setting: unknown = null) {
    const file = fileURLToPath(programs[program]);
    this.#process = spawn(process.execPath, ["--conditions=durable-source", file, JSON.stringify(setting)]);
    living.add(this.#process);
    this.#process.stderr?.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));
    createInterface({ input: this.#process.stdout as NodeJS.ReadableStream })
      .on("line", (line) => {
        this.lines.push(line);
        this.#wake();
      })
      .once("close", () => {
        this.#ended = true;
        this.#wake();
      });
  }

  #wake(): void {
    for (const tell of this.#tell.splice(0)) tell();
  }

  /** What follows these words, on the first line from `from` on that begins with them. */
  async line(words: string, from = 0): Promise<string> {
    for (let at = from; ; at++) {
      while (at >= this.lines.length) {
        if (this.#ended) throw new Error(`No "${words}" from the program: ${this.#errors}`);
        await new Promise<void>((resolve) => this.#tell.push(resolve));
      }
      const line = this.lines[at] ?? "";
      if (`${line} `.startsWith(`${words} `)) return line.slice(words.length + 1);
    }
  }

  /** Of all lines that begin with this word, from `from` on, what follows it. */
  all(word: string, from = 0): string[] {
    return this.lines
      .slice(from)
      .flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
  }

  freeze(): void {
    this.#process.kill("SIGSTOP");
  }

  wake(): void {
    this.#process.kill("SIGCONT");
  }

  /** Lets the body that is held go on. */
  go(): void {
    this.#process.stdin?.write("go\n");
  }
}

export async function killPrograms(): Promise<void> {
  await Promise.all(
    [...living].map(async (child) => {
      living.delete(child);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
    }),
  );
}
