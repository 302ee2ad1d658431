/** For tests and demos: a command as a user starts it, in its own process and its own folder. */

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp, type App } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { SqliteStorage } from "@durable/core/sqlite";
import { entriesOf } from "./runs.ts";

const examples = fileURLToPath(new URL("../..", import.meta.url));

/** The journals and effects of one example, until they are removed. */
export class Place {
  /** The folder of the example. */
  readonly example: string;
  readonly folder: string;
  readonly effectsPath: string;

  constructor(example: string) {
    this.example = example;
    this.folder = mkdtempSync(join(tmpdir(), `${example}-`));
    this.effectsPath = join(this.folder, "effects.txt");
  }

  /** The lines of step bodies, in order. */
  effects(): string[] {
    if (!existsSync(this.effectsPath)) return [];
    return readFileSync(this.effectsPath, "utf8").split("\n").slice(0, -1);
  }

  /** The journal as another process reads it; empty if it does not exist yet. */
  async entries(runId = this.example): Promise<Entry[]> {
    return (await this.read((app) => entriesOf(app.get(runId)))) ?? [];
  }

  /** Reads the journals like another process; `null` if there are none yet. */
  async read<T>(look: (app: App) => Promise<T>): Promise<T | null> {
    const path = join(this.folder, "journal.db");
    if (!existsSync(path)) return null;
    const storage = new SqliteStorage(path);
    try {
      return await look(createApp({ storage, workflows: [] }));
    } finally {
      await storage.close();
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** What a process needs of a place; an example may have its own kind. */
export interface DemoPlace {
  readonly example: string;
  readonly folder: string;
  readonly effectsPath?: string;
}

export interface DemoOptions {
  /** The file to start, in the folder of the example. */
  readonly file?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

const living = new Set<ChildProcess>();

export class DemoProcess {
  readonly ended: Promise<Ended>;
  readonly #process: ChildProcess;
  #out = "";
  #over = false;
  #read = 0;
  #wake: () => void = () => {};

  constructor(place: DemoPlace, { file = "src/main.ts", args = [], env = {} }: DemoOptions = {}) {
    const child = spawn(process.execPath, ["--conditions=durable-source", file, ...args], {
      cwd: join(examples, place.example),
      // Only what is needed to run, so that a test never uses the developer's keys.
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: join(examples, "..", "node_modules", ".cache", "node-compile"),
        DURABLE_DIR: place.folder,
        DEMO_EFFECTS: place.effectsPath,
        DEMO_PACE: "0.05",
        ENDS_WITH_INPUT: "1",
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#process = child;
    living.add(child);
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    child.stdout.on("data", (chunk: Buffer) => {
      this.#out += chunk.toString();
      this.#wake();
    });
    this.ended = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        living.delete(child);
        this.#over = true;
        this.#wake();
        resolve({ code, signal, out: this.#out, err });
      });
    });
  }

  /** Settles when this text was printed, or when the process ends: true if it was printed. */
  async printed(text: string): Promise<boolean> {
    return (await this.until((out) => (out.includes(text) ? text : null))) !== null;
  }

  /** Reads on, up to the first line that fits; throws when the process ends before. */
  async readTo(fits: RegExp, hear: (line: string) => void): Promise<string> {
    for (;;) {
      const line = await this.until((out) => out.split("\n").slice(0, -1)[this.#read] ?? null);
      if (line === null) throw new Error((await this.ended).err);
      this.#read += 1;
      hear(line);
      if (fits.test(line)) return line;
    }
  }

  /** The result of `found` on the output, as soon as there is one; `null` if the process ends without. */
  async until<T>(found: (out: string) => T | null): Promise<T | null> {
    for (;;) {
      const value = found(this.#out);
      if (value !== null || this.#over) return value;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** Kills it, like `kill -9`. */
  async kill(): Promise<Ended> {
    this.signal("SIGKILL");
    return this.ended;
  }
}

/** Runs the demo to its end. */
export function runDemo(place: DemoPlace, options?: DemoOptions): Promise<Ended> {
  return new DemoProcess(place, options).ended;
}

/** Kills the processes that a test left. */
export function killDemos(): void {
  for (const child of living) child.kill("SIGKILL");
}

/** The state when a process started: steps with a recorded outcome, and the number of effect lines. */
export interface Restart {
  readonly recorded: ReadonlySet<string>;
  readonly lines: number;
}

/**
 * Compares the lines of step bodies with what was recorded when each process started.
 *
 * K2. A step with a recorded outcome is not run by that process or any later one.
 * K3. A step has one idempotency key in every process, and no other step has it.
 */
export function checkEffects(effects: readonly string[], restarts: readonly Restart[]): void {
  for (const { recorded, lines } of restarts) {
    const again = effects.slice(lines).find((line) => recorded.has(line.split(" ")[1] ?? ""));
    if (again !== undefined) throw new Error(`K2: a recorded step ran again: ${again}`);
  }
  const keys = new Map<string, string>();
  for (const line of effects) {
    const [, key = "", idempotencyKey = ""] = line.split(" ");
    const known = [...keys].find(([one, other]) => (one === key) !== (other === idempotencyKey));
    if (known !== undefined) throw new Error(`K3: ${line}, but ${known.join(" ")}`);
    keys.set(key, idempotencyKey);
  }
}

/** Calls of bodies, including interrupted ones. */
export function begun(effects: readonly string[]): string[] {
  return effects.filter((line) => line.startsWith("began "));
}
