/** Finds the process of workerd, so that a test can kill it. */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** The output of `ps` for all processes, one per line; read from /proc where possible. */
function processes(): string[] {
  if (!existsSync("/proc/self/stat"))
    return spawnSync("ps", ["-A", "-o", "pid=,comm=,stat=,ppid="], { encoding: "utf8" }).stdout.split("\n");
  return readdirSync("/proc").flatMap((name) => {
    try {
      return readFileSync(`/proc/${name}/stat`, "utf8");
    } catch {
      return [];
    }
  });
}

/** Processes of workerd that this one started, and that still run. */
export function workerds(): number[] {
  const children = new RegExp(`^\\s*(\\d+) .*workerd\\S* +[^Z\\s]\\S* +${process.pid}\\b`);
  return processes().flatMap((line) => Number(children.exec(line)?.[1] ?? Number.NaN) || []);
}

export function workerdOf(before: readonly number[]): number {
  const [pid] = workerds().filter((each) => !before.includes(each));
  if (pid === undefined) throw new Error("workerd is not found among the processes.");
  return pid;
}
