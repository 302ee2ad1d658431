/** The demo as a user starts it: a process of its own, in a folder of its own. */

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

const living = new Set<ChildProcess>();
const folders: string[] = [];

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "vercel-ai-sdk-"));
  folders.push(folder);
  return folder;
}

/** Runs the demo to its end, or kills it as soon as it has printed `until`. */
export function runDemo(
  folder: string,
  args: readonly string[],
  { until, env = {} }: { readonly until?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ended> {
  const child = spawn(
    process.execPath,
    ["--import", "example-llm/sources", here("../../src/main.ts"), ...args],
    {
      cwd: here("../.."),
      // Nothing of the developer's environment but what it takes to run: their keys are no business of a test.
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: here("../../../../node_modules/.cache/node-compile"),
        DURABLE_DIR: folder,
        DEMO_PACE: "0.02",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  living.add(child);
  let [out, err] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    if (until !== undefined && out.includes(until)) child.kill("SIGKILL");
  });
  return new Promise((resolve) => {
    child.once("close", (code, signal) => {
      living.delete(child);
      resolve({ code, signal, out, err });
    });
  });
}

/** Ends and removes whatever a test left behind. */
export function cleanUp(): void {
  for (const child of living) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}
