/**
 * A demo on the emulator: started on an empty folder, killed, and started again on the same folder. Proven in
 * cloudflare-worker/test/demo.full.test.ts.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { examples } from "./emulator-bundle.ts";
import { Emulator, weigh, type EmulatorOptions } from "./emulator.ts";
import type { Terminal } from "./terminal.ts";

export class Stage {
  readonly #out: Terminal;
  readonly #options: EmulatorOptions;
  #emulator: Emulator | null = null;
  #lives = 0;

  constructor(out: Terminal, options: Omit<EmulatorOptions, "folder">) {
    this.#out = out;
    const { example } = options;
    const folder = join(process.env["DURABLE_DIR"] || join(examples, example, ".durable"), "demo");
    this.#options = { ...options, folder };
  }

  /** How often the emulator was started. */
  get lives(): number {
    return this.#lives;
  }

  get emulator(): Emulator {
    if (this.#emulator === null) throw new Error("The emulator was not started.");
    return this.#emulator;
  }

  /** Removes the files of an earlier demo, and shows the size of the Worker. */
  async begin(): Promise<void> {
    rmSync(this.#options.folder, { recursive: true, force: true });
    this.#out.line(await weigh(this.#options.example));
    await this.start();
  }

  async start(): Promise<void> {
    this.#lives += 1;
    this.#out.status(`emulator ${this.#lives} starts`);
    this.#emulator = await Emulator.start(this.#options);
    const bucket = this.#lives === 1 ? "an empty folder" : "the same folder";
    this.#out.line(
      `${this.#out.paint("bold", `emulator ${this.#lives}`)} listens at ${this.#emulator.url}, all it keeps is in ${bucket}`,
    );
  }

  head(text: string): void {
    this.#out.line();
    this.#out.line(this.#out.paint("bold", text));
    this.#out.line();
  }

  /** Kills the emulator, as part of the demo or at its end. */
  async end(): Promise<void> {
    await this.#emulator?.kill();
  }
}
