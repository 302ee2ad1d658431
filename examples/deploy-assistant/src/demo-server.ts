/** The server as a separate process, for the demo, which reads its output line by line. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Longer than a model call takes. */
const patienceMs = 180_000;

export class DemoServer {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #over: Promise<unknown>;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    const main = fileURLToPath(new URL("main.ts", import.meta.url));
    this.#process = spawn(process.execPath, ["--conditions=durable-source", main], {
      env: { ...process.env, ...env, ENDS_WITH_INPUT: "1" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#over = once(this.#process, "close");
    const { stdout } = this.#process;
    if (stdout === null) throw new Error("The server has no output.");
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  /** Passes on its lines, up to the first that matches. */
  async until(fits: RegExp, hear: (line: string) => void = () => {}): Promise<RegExpExecArray> {
    const late = AbortSignal.timeout(patienceMs);
    const lateness = once(late, "abort").then(() => null);
    for (;;) {
      const next = await Promise.race([this.#lines.next(), lateness]);
      if (next === null) throw new Error(`The server did not print ${fits} in time.`);
      if (next.done === true) throw new Error(`The server ended before it printed ${fits}.`);
      hear(next.value);
      const found = fits.exec(next.value);
      if (found !== null) return found;
    }
  }

  /** Kills it like `kill -9`, without a chance to save or print anything. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#over;
  }
}
