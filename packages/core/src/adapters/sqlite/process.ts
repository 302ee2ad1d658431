/**
 * Who drives, on one host: boot, process namespace, process id and start time. With these a dead
 * process is known at once, and a process id that was given out again is not taken for the old one.
 *
 * process.1. Whoever cannot be shown to be dead is believed to live, until the lease ends.
 */

import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

function text(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "";
  }
}

/** One boot of one machine (or container): only inside it do process ids mean anything. */
const machine = [
  text(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")) || hostname(),
  text(() => readlinkSync("/proc/self/ns/pid")),
].join("|");

/** Fields 3 and 22 of stat, counted after the command's closing parenthesis; empty where there is no /proc. */
function look(pid: number): { readonly state: string; readonly start: string } {
  const stat = text(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", start: fields[19] ?? "" };
}

/** This process, as leases record it. */
export const thisProcess = `${machine}|${process.pid}|${look(process.pid).start}`;

/** True only when the process is known to be dead; one on another machine is believed until its lease ends. */
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
  const found = look(pid);
  // A zombie has ended; where nobody collects it, it keeps its number.
  if (found.state === "Z" || found.state === "X") return true;
  return found.start !== "" && start !== "" && found.start !== start;
}
