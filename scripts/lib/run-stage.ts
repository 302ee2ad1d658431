/** Runs a script of package.json with its output shown, and ends it when its time is up. */
import { spawn, spawnSync } from "node:child_process";
import { environment, needsShell, root } from "./workspace.ts";

export type StageOptions = {
  readonly env?: Readonly<Record<string, string>>;
  /** Time limit; Infinity for none. */
  readonly seconds: number;
  readonly cwd?: string;
};

/** Seconds between SIGTERM and SIGKILL. */
const grace = 10;
const isWindows = process.platform === "win32";

/** True when the script succeeded in time. With a limit, processes that it left behind are ended as well. */
export function runStage(name: string, { env = {}, seconds, cwd = root }: StageOptions): Promise<boolean> {
  if (seconds <= 0) {
    console.log(`${name}: no time left`);
    return Promise.resolve(false);
  }
  const limited = seconds !== Infinity;
  const child = spawn("npm", ["run", "--silent", name], {
    cwd,
    env: { ...environment(), ...env },
    stdio: ["ignore", "inherit", "inherit"],
    // A process group can be ended as a whole. Without a limit the script stays in ours, which Ctrl-C reaches.
    detached: limited && !isWindows,
    shell: needsShell("npm"),
  });
  const end = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined) endAll(child.pid, signal, limited);
  };
  const interrupted = (signal: NodeJS.Signals): void => {
    end(signal);
    process.exit(1);
  };
  const timedOut = (): void => {
    console.log(`${name}: not done after ${Math.round(seconds)} s`);
    end("SIGTERM");
  };
  const timers = limited
    ? [setTimeout(timedOut, seconds * 1000), setTimeout(end, (seconds + grace) * 1000, "SIGKILL")]
    : [];
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  return new Promise((resolve) => {
    const finish = (ok: boolean): void => {
      for (const timer of timers) clearTimeout(timer);
      process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
      resolve(ok);
    };
    child.on("error", (error) => {
      console.error(`${name}: ${error.message}`);
      finish(false);
    });
    child.on("exit", (code) => {
      if (limited) end("SIGKILL");
      finish(code === 0);
    });
  });
}

function endAll(pid: number, signal: NodeJS.Signals, isGroup: boolean): void {
  try {
    if (isWindows) spawnSync("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore" });
    else process.kill(isGroup ? -pid : pid, signal);
  } catch {
    // All processes have ended already.
  }
}
