/**
 * Identifies a driver's process on one host: boot, process namespace, process id and start time. With these, a dead
 * process is detected at once, and a reused process id is not mistaken for the old process.
 *
 * process.1. A process that cannot be shown to be dead counts as alive until its lease ends.
 */

import { readFileSync, readlinkSync } from "./node-fs.ts";
import { hostname } from "node:os";

function text(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "";
  }
}

/** One boot of one machine (or container). Process ids have a meaning only inside it. */
const machine = [
  text(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")) || hostname(),
  text(() => readlinkSync("/proc/self/ns/pid")),
].join("|");

/** Fields 3 and 22 of stat, counted after the closing parenthesis of the command; empty on systems without /proc. */
function readProcess(pid: number): { readonly state: string; readonly start: string } {
  const stat = text(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", start: fields[19] ?? "" };
}

/** This process, as leases record it. */
export const thisProcess = `${machine}|${process.pid}|${readProcess(process.pid).start}`;

/** True only when the process is known to be dead. A process on another machine counts as alive until its lease ends. */
export function isDead(recorded: string): boolean {
  const parts = recorded.split("|");
  const start = parts.pop();
  const pid = Number(parts.pop());
  if (parts.join("|") !== machine || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as { code?: string }).code === "ESRCH") return true;
  }
  const found = readProcess(pid);
  // A zombie has ended, and keeps its process id until its parent collects it.
  if (found.state === "Z" || found.state === "X") return true;
  return found.start !== "" && start !== "" && found.start !== start;
}
