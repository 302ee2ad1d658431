/** One bug, one process: does any seed fail? A process that crashes or hangs counts as a failure, too. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Patch } from "./patch.ts";

export interface Job {
  readonly patches: readonly Patch[];
  readonly seeds: readonly number[];
}

export type Finding =
  | {
      readonly kind: "caught";
      /** An invariant of the simulator, `crash` or `hang`. */
      readonly by: string;
      readonly what: string;
      readonly seed: number;
      /** How many seeds it took. */
      readonly tried: number;
    }
  | { readonly kind: "survived"; readonly tried: number }
  /** It does not parse, or fails when it is imported: not a bug that could be shipped. */
  | { readonly kind: "unfit"; readonly what: string };

export type Found = Finding & { readonly tookMs: number };

/** A seed takes about 20 ms; the longest ones, which reach the limit of events, take seconds, and more on a busy machine. */
const longestSeedMs = 30_000;

const life = fileURLToPath(new URL("life.ts", import.meta.url));

/** Runs seeds with the patches in place until one of them fails; calls `began` for every seed. */
export function hunt(job: Job, began: (seed: number) => void = () => {}): Promise<Found> {
  const start = performance.now();
  const child = fork(life, {
    execArgv: ["--conditions=durable-source", "--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let seed = job.seeds[0] ?? 0;
  let errors = "";
  child.stderr?.on("data", (text: Buffer) => {
    errors = (errors + text.toString()).slice(-2_000);
  });
  return new Promise((resolve) => {
    const end = (finding: Finding): void => {
      clearTimeout(watchdog);
      child.kill("SIGKILL");
      resolve({ ...finding, tookMs: performance.now() - start });
    };
    const caught = (by: string, what: string): void =>
      end({ kind: "caught", by, what, seed, tried: job.seeds.indexOf(seed) + 1 });
    const watchdog = setTimeout(() => caught("hang", `no end after ${longestSeedMs} ms`), longestSeedMs);
    child.on("message", (message: Finding | { readonly kind: "begins"; readonly seed: number }) => {
      if (message.kind === "begins") {
        watchdog.refresh();
        seed = message.seed;
        began(seed);
      } else end(message);
    });
    child.once("error", (error) => end({ kind: "unfit", what: String(error) }));
    child.once("exit", (code, signal) => caught("crash", errors || `exit ${code ?? signal}`));
    child.send(job);
  });
}
