/** Starts the processes that are measured, and the servers that they need. */

import { spawn } from "node:child_process";
import type { Result, Task } from "./measure.ts";

const mark = "@@durable-bench ";
/** For what hangs, and for what is hopelessly slow. */
const usualTimeoutMs = 180_000;

const now = (): number => performance.timeOrigin + performance.now();

/** Runs a task in a fresh process. */
export function startChild(
  script: string,
  task: Task,
  timeoutMs: number = usualTimeoutMs,
): Promise<Result & { readonly startedAt: number }> {
  return new Promise((resolve, reject) => {
    const startedAt = now();
    const flags = ["--no-warnings", "--expose-gc", "--max-old-space-size=3000"];
    const child = spawn(process.execPath, [...flags, script, JSON.stringify(task)], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_ENV: "production", NO_COLOR: "1", OTEL_SDK_DISABLED: "true" },
    });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => void (out = `${out}${String(chunk)}`.slice(-20_000)));
    child.stderr.on("data", (chunk) => void (err = `${err}${String(chunk)}`.slice(-20_000)));
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      const line = out.split("\n").findLast((text) => text.startsWith(mark));
      if (line !== undefined)
        return resolve({ ...(JSON.parse(line.slice(mark.length)) as Result), startedAt });
      const why =
        signal === "SIGKILL" ? `no result after ${timeoutMs / 1_000} s` : `exit code ${String(code)}`;
      reject(new Error(`${why}: ${errorLine(err) || errorLine(out)}`));
    });
  });
}

/** The line of an output that says what went wrong, without paths of this machine. */
function errorLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !/^\s+at /.test(line));
  const line = lines.find((each) => /error|cannot|failed/i.test(each)) ?? lines.at(-1) ?? "";
  return line
    .trim()
    .replaceAll(/(?:file:\/\/)?\/(?:[\w.@+-]+\/)+/g, "")
    .slice(0, 200);
}
