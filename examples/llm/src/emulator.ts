/**
 * The emulator of Workers, for the examples that run there: Miniflare and workerd as processes of their own, offline,
 * with a bucket in a folder that outlives them.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Environment } from "./choose.ts";
import { portIn } from "./settings.ts";
import { bundleWorker } from "./emulator-bundle.ts";

export interface EmulatorOptions {
  /** The folder of the example, with its wrangler.jsonc. */
  readonly example: string;
  /** Where the bucket is stored. */
  readonly folder: string;
  /** Any free port by default. */
  readonly port?: number;
  /** Variables of the Worker; they win over those of `.dev.vars`. */
  readonly vars?: Readonly<Record<string, string>>;
  /** Compatibility flags, beside those of wrangler.jsonc. */
  readonly flags?: readonly string[];
}

const guard = fileURLToPath(new URL("emulator-guard.ts", import.meta.url));
const program = fileURLToPath(new URL("emulator-main.ts", import.meta.url));

/**
 * The command `dev` of an example: the emulator on port 8787, or `PORT`, until Ctrl-C. The file `pid` in its
 * folder has the id of its process group: `kill -9 -- -$(cat pid)`. Returns the exit code.
 */
export async function dev(options: Omit<EmulatorOptions, "folder" | "port">): Promise<number> {
  const folder = join(process.env["DURABLE_DIR"] ?? ".durable", "dev");
  const given: EmulatorOptions = { ...options, folder, port: portIn(process.env, 8787) };
  console.log(
    `To deploy: cd examples/${options.example} && npm run build --prefix ../.. && npx wrangler@4 deploy --minify (see its README)`,
  );
  const child = spawn(process.execPath, [guard, program, JSON.stringify(given)], {
    detached: true,
    stdio: ["pipe", "inherit", "inherit"],
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "pid"), String(child.pid));
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  return signal === null ? (code ?? 0) : 137;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export class Emulator {
  readonly url: string;
  /** All lines it has printed. */
  readonly lines: string[];
  readonly #process: ChildProcess;
  readonly #over: Promise<unknown>;

  private constructor(process: ChildProcess, url: string, lines: string[]) {
    this.url = url;
    this.lines = lines;
    this.#process = process;
    this.#over = process.exitCode === null ? once(process, "exit") : Promise.resolve();
  }

  /** Of the group of all its processes. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Settles when the Worker can be asked. */
  static async start(options: EmulatorOptions): Promise<Emulator> {
    // A group of its own: `kill` reaches Miniflare, workerd and whatever else they started, all at once.
    const child = spawn(process.execPath, [guard, program, JSON.stringify(options)], {
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const lines: string[] = [];
    const url = await new Promise<string>((resolve, reject) => {
      const hear = (line: string): void => {
        lines.push(line);
        const [, found] = /Ready on (http:\S+)/.exec(line) ?? [];
        if (found !== undefined) resolve(found);
      };
      createInterface({ input: child.stdout }).on("line", hear);
      createInterface({ input: child.stderr }).on("line", hear);
      child.once("close", () => reject(new Error(`The emulator did not start:\n${lines.join("\n")}`)));
    });
    return new Emulator(child, url, lines);
  }

  /** Sends a request to the Worker; with a body, by POST. */
  async ask(path: string, body?: unknown, given: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const headers = { "content-type": "application/json", ...given };
    const post = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(new URL(path, this.url), body === undefined ? { headers } : post);
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? (JSON.parse(text) as unknown) : text };
  }

  /** Kills every process of the emulator, like `kill -9`. */
  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    process.kill(-pid, "SIGKILL");
    await this.#over;
  }
}

/**
 * Variables that a demo passes on to its Worker, which does not see this environment; they override
 * `.dev.vars`.
 */
export function demoVars(env: Environment): Readonly<Record<string, string>> {
  const { DEMO_PACE, LLM_PROVIDER } = env as { DEMO_PACE?: string; LLM_PROVIDER?: string };
  return { DEMO_PACE: DEMO_PACE || "1", ...(LLM_PROVIDER && { LLM_PROVIDER }) };
}

/** The size of an example's Worker as it is deployed, and which modules of Node it imports, in one line. */
export async function weigh(example: string): Promise<string> {
  const { script, imports } = await bundleWorker(example, { minify: true });
  const bytes = new TextEncoder().encode(script);
  const fromNode = imports.filter((path) => path.startsWith("node:"));
  return `bundle     ${kib(bytes)}, ${kib(gzipSync(bytes))} gzipped; from node: it imports ${fromNode.join(", ") || "nothing"}`;
}

const kib = ({ length }: Uint8Array): string => `${Math.ceil(length / 1024)} KiB`;
