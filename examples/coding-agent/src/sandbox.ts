/**
 * Runs a candidate against the tests: its code is written to a file, and a child process with few permissions
 * imports it.
 *
 * B1. Time and memory are limited in the child; a child that does not end by itself is killed from here.
 * B2. The environment is empty: no keys, no proxies, no settings of the user. Files can be read in two
 *     folders and written nowhere; processes cannot be started and, since Node 25, hosts cannot be reached.
 * B3. Running it again after a crash gives the same result.
 */

import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { cases } from "./suite/cases.ts";

export interface Failure {
  readonly name: string;
  readonly what: string;
}

/** The result of the tests. */
export interface Report {
  readonly passed: number;
  readonly total: number;
  /** The first failures, and the case that was running when it was stopped. */
  readonly failures: readonly Failure[];
  readonly stopped: "time" | "memory" | "error" | null;
}

export interface Limits {
  readonly cpuMs: number;
  readonly memoryMb: number;
}

const usual: Limits = { cpuMs: 1_000, memoryMb: 192 };
const mostFailures = 5;
const suite = fileURLToPath(new URL("suite", import.meta.url));

/** One line of the child's output. */
type Line = Failure & ({ readonly passed: boolean } | { readonly stopped: Exclude<Report["stopped"], null> });

export async function runSuite(
  code: string,
  folder: string,
  { signal, limits = usual }: { readonly signal: AbortSignal; readonly limits?: Limits },
): Promise<Report> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "candidate.mjs");
  await writeFile(file, code);
  const lines = await say(file, folder, { signal, limits });
  const failures = lines.filter((line) => !("passed" in line && line.passed));
  const last = lines.at(-1);
  return {
    passed: lines.length - failures.length,
    total: cases.length,
    failures: failures.slice(0, mostFailures).map(({ name, what }) => ({ name, what })),
    stopped: last !== undefined && "stopped" in last ? last.stopped : null,
  };
}

async function say(
  file: string,
  folder: string,
  { signal, limits: { cpuMs, memoryMb } }: { readonly signal: AbortSignal; readonly limits: Limits },
): Promise<Line[]> {
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${memoryMb}`,
      "--permission",
      "--allow-worker",
      `--allow-fs-read=${suite}`,
      `--allow-fs-read=${folder}`,
      join(suite, "run.ts"),
      pathToFileURL(file).href,
      String(cpuMs),
      String(memoryMb),
    ],
    // Its input stays open while this process lives.
    {
      cwd: folder,
      env: {},
      stdio: ["pipe", "pipe", "pipe"],
      signal,
      killSignal: "SIGKILL",
      timeout: 20 * cpuMs,
    },
  );
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`The suite ended with ${code}: ${err.trim().slice(-300)}`));
    });
  });
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}
