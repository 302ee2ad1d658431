/**
 * Processes that are started to try a mutant, with everything that they start themselves.
 *
 * processes.1. None outlives its call, also when this process is interrupted. Without /proc, this holds for its group.
 * processes.2. CPU time is that of the whole tree, read from /proc; without /proc it is the time that passed.
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";

export type Ended = {
  /** `null` if it was stopped. */
  readonly code: number | null;
  /** Why it was stopped, if it was. */
  readonly stopped: "time" | "cpu" | "text" | null;
  readonly text: string;
  readonly cpuMs: number;
  readonly wallMs: number;
};

export type Limits = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly wallMs: number;
  readonly cpuMs?: number;
  /** Stops when this is printed. */
  readonly until?: RegExp;
};

type Row = { readonly pid: number; readonly parent: number; readonly cpuMs: number };

const hasProc = existsSync("/proc/self/stat");
/** The kernel counts in hundredths of a second on every platform that Node supports. */
const msPerTick = 10;
const lookEveryMs = 250;
/** Work of people on the same machine goes first. */
const niceness = 2;
const keptText = 200_000;

const alive = new Set<number>();

/** Runs Node with a low priority until it ends or reaches a limit. */
export function runNode(args: readonly string[], limits: Limits): Promise<Ended> {
  const { cwd, env, wallMs, cpuMs = Infinity, until } = limits;
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, NO_COLOR: "1", ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const pid = child.pid ?? 0;
  if (pid > 0) lower(pid);
  alive.add(pid);
  let text = "";
  let used = 0;
  let stopped: Ended["stopped"] = null;
  const stop = (why: Ended["stopped"]): void => {
    stopped ??= why;
    endTree(pid);
  };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      text = (text + String(chunk)).slice(-keptText);
      if (until?.test(text) === true) stop("text");
    });
  const timer = setInterval(() => {
    const passed = performance.now() - startedAt;
    used = Math.max(used, hasProc ? cpuOf(pid) : passed);
    if (passed > wallMs) stop("time");
    else if (used > cpuMs) stop("cpu");
  }, lookEveryMs);
  const over = (): void => {
    clearInterval(timer);
    alive.delete(pid);
  };
  return new Promise((resolve, reject) => {
    child.on("error", (error) => {
      over();
      reject(error);
    });
    child.on("exit", (code) => {
      over();
      // What it leaves behind would keep its outputs open.
      endGroup(pid);
      const ended = { stopped, cpuMs: used, wallMs: performance.now() - startedAt };
      setTimeout(() => resolve({ code: stopped === null ? code : null, text, ...ended }), 50);
    });
  });
}

/** Ends everything that is still running; for an interrupt. */
export function endAll(): void {
  for (const pid of alive) endTree(pid);
}

function lower(pid: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    // It has ended already.
  }
}

function rows(): Row[] {
  if (!hasProc) return [];
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      // The name of the program stands in brackets, and may have blanks and brackets in it.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // utime, stime, and the same of its own children that have ended.
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      return [{ pid: Number(name), parent: Number(fields[1]), cpuMs: ticks * msPerTick }];
    } catch {
      return [];
    }
  });
}

function treeOf(pid: number): Row[] {
  const all = rows();
  const found = all.filter((row) => row.pid === pid);
  // Grows while it is walked through.
  for (const { pid: parent } of found) found.push(...all.filter((row) => row.parent === parent));
  return found;
}

function cpuOf(pid: number): number {
  return treeOf(pid).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/** Servers that a test starts are in groups of their own, so the tree is read before its root is ended. */
function endTree(pid: number): void {
  const tree = treeOf(pid);
  endGroup(pid);
  for (const row of tree) end(row.pid);
}

function endGroup(pid: number): void {
  end(-pid);
}

function end(pid: number): void {
  try {
    if (pid !== 0) process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
