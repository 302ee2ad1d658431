/**
 * The emulator of Workers, for the examples that run there: wrangler and workerd as separate processes,
 * offline, with a bucket in a folder that outlives them.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import type { Environment } from "./choose.ts";

/** The folder of all examples. */
export const examples: string = fileURLToPath(new URL("../..", import.meta.url));

export interface EmulatorOptions {
  /** The folder of the example, with its wrangler.jsonc. */
  readonly example: string;
  /** Where the bucket is stored. */
  readonly folder: string;
  /** Any free port by default. */
  readonly port?: number;
  /** Variables of the Worker, in addition to those of `.dev.vars`. */
  readonly vars?: Readonly<Record<string, string>>;
  /** More arguments for wrangler. */
  readonly args?: readonly string[];
}

/** Bundles the packages of this workspace from their sources, so that nothing needs to be built first. */
const conditions = ["durable-source", "workerd", "worker", "browser"];

/** The command, for any Node: wrangler in the folder of the example. */
export function wrangler({ example, folder, port = 0, vars = {}, args = [] }: EmulatorOptions): {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
} {
  const cwd = join(examples, example);
  const manifest = createRequire(join(cwd, "package.json")).resolve("wrangler/package.json");
  const command = [
    join(dirname(manifest), "bin", "wrangler.js"),
    "dev",
    "--ip=127.0.0.1",
    `--port=${port}`,
    "--inspector-port=0",
    `--persist-to=${folder}`,
    "--show-interactive-dev-session=false",
    ...Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]),
    ...args,
  ];
  const env = {
    ...process.env,
    WRANGLER_BUILD_CONDITIONS: conditions.join(","),
    // Works offline: no metrics, no requests.
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_HIDE_BANNER: "true",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_LOG_PATH: join(folder, "logs"),
  };
  return { command, cwd, env };
}

const guard = fileURLToPath(new URL("emulator-guard.ts", import.meta.url));

/**
 * The command `dev` of an example: the emulator on port 8787, or `PORT`, until Ctrl-C. The file `pid` in its
 * folder has the id of its process group: `kill -9 -- -$(cat pid)`.
 */
export function dev(options: Omit<EmulatorOptions, "folder" | "port">): void {
  const folder = process.env["DURABLE_DIR"] || join(examples, options.example, ".durable", "dev");
  const { command, cwd, env } = wrangler({ ...options, folder, port: Number(process.env["PORT"] || 8787) });
  const stdio = ["pipe", "inherit", "inherit"] as const;
  const child = spawn(process.execPath, [guard, ...command], { cwd, env, detached: true, stdio: [...stdio] });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "pid"), String(child.pid));
  child.once("exit", (code, signal) => process.exit(signal === null ? (code ?? 0) : 137));
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

  /** Settles when the Worker accepts requests. */
  static async start(options: EmulatorOptions): Promise<Emulator> {
    const { command, cwd, env } = wrangler(options);
    // A process group, so that `kill` reaches wrangler, workerd and their children at once.
    const child = spawn(process.execPath, [guard, ...command], {
      cwd,
      env,
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
      child.once("exit", () => reject(new Error(`The emulator did not start:\n${lines.join("\n")}`)));
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

/** The size of an example's Worker as deployed, and its Node imports, in one line. */
export async function weigh(example: string): Promise<string> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(examples, example, "src", "worker.ts")],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    outfile: "worker.js",
    format: "esm",
    target: "es2023",
    conditions,
    // Reported below instead of refused here.
    external: ["node:*", "cloudflare:*"],
    logLevel: "error",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  const fromNode = imports.filter((path) => path.startsWith("node:"));
  const contents = outputFiles[0]?.contents ?? new Uint8Array();
  return `bundle     ${kib(contents)}, ${kib(gzipSync(contents))} gzipped; from node: it imports ${fromNode.join(", ") || "nothing"}`;
}

const kib = ({ length }: Uint8Array): string => `${Math.ceil(length / 1024)} KiB`;
