/**
 * The tests as a separate process: `node run.ts <candidate> <cpuMs> <memoryMb>`. Prints one line of JSON per
 * case.
 *
 * S1. The candidate runs in a thread, so that an endless loop cannot block the limits.
 * S2. Processor time is measured instead of the clock, so that a busy machine fails no candidate; the clock
 *     is the last resort.
 * S3. When the parent process ends, so does this one, and the loop with it.
 */

// oxlint-disable unicorn/require-post-message-target-origin -- threads have no origin
import { isDeepStrictEqual } from "node:util";
import { Worker } from "node:worker_threads";
import { cases } from "./cases.ts";

const [candidate = "", cpuMs = "0", memoryMb = "0"] = process.argv.slice(2);
const clockMs = 10 * Number(cpuMs);
const bytes = Number(memoryMb) * 1024 * 1024;

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** Reports the case that was running and the reason for stopping, and exits. */
function stop(stopped: "time" | "memory" | "error", what: string): never {
  say({ stopped, name: cases[at]?.name ?? "", what });
  process.exit(0);
}

let at = -1;
const worker = new Worker(new URL("worker.ts", import.meta.url), {
  workerData: { candidate },
  stdin: true,
  // Separate from the output of this process.
  stdout: true,
  stderr: true,
  // The process limit is reached before this heap is full, because a nearly full heap would spend its time on
  // garbage collection.
  resourceLimits: { maxOldGenerationSizeMb: Number(memoryMb), maxYoungGenerationSizeMb: 8 },
});

worker.on("error", (error: Error & { code?: string }) => {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") stop("memory", `more than ${memoryMb} MB`);
  stop("error", `${error.name}: ${error.message}`);
});
worker.on("exit", () => stop("error", "the code ended the process"));
worker.on("message", (answer: unknown) => {
  const given = cases[at];
  if (given === undefined) before = process.cpuUsage();
  else judge(given, answer as { value?: unknown; error?: string });
  at += 1;
  const next = cases[at];
  if (next === undefined) process.exit(0);
  worker.postMessage(next.args);
});

function judge(
  { name, gives }: (typeof cases)[number],
  { value, error }: { value?: unknown; error?: string },
): void {
  const passed = typeof gives === "string" ? error === gives : isDeepStrictEqual(value, gives);
  const gave = error === undefined ? `gave ${String(JSON.stringify(value)).slice(0, 80)}` : `threw ${error}`;
  const wanted = typeof gives === "string" ? `a ${gives}` : JSON.stringify(gives);
  say({ name, passed, what: passed ? "" : `${gave}, not ${wanted}` });
}

// Measured again from when the code is loaded, so that the start of the process does not count.
let before = process.cpuUsage();
const startedAt = performance.now();
setInterval(() => {
  const { user, system } = process.cpuUsage(before);
  if ((user + system) / 1_000 > Number(cpuMs)) stop("time", `more than ${cpuMs} ms of processor time`);
  if (performance.now() - startedAt > clockMs) stop("time", `nothing for ${clockMs} ms`);
  if (process.memoryUsage.rss() > bytes) stop("memory", `more than ${memoryMb} MB`);
}, 20);
process.stdin.on("end", () => process.exit(1)).resume();
