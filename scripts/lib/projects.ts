/** Projects outside of the workspace that are installed, built and started as a user does it, and killed on the way. */

import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { capture, environment } from "./workspace.ts";

/** The longest time for one thing to happen; installs and builds have no limit. */
export const patienceMs = 120_000;

const quiet = { NEXT_TELEMETRY_DISABLED: "1", WRANGLER_SEND_METRICS: "false" };
const running = new Set<ChildProcess>();

/** The packed package of this name, such as `core`, in a folder. */
export function tarball(folder: string, name: string): string {
  const file = readdirSync(folder).find((one) => new RegExp(`^durable-${name}-\\d`).test(one));
  return join(folder, file ?? "");
}

/** Runs a command to its end, and throws what it says if it fails. */
export function must(cwd: string, command: string, args: readonly string[]): string {
  const { ok, said, stdout } = capture(command, args, { cwd, env: { ...quiet, CI: "1" } });
  if (!ok) throw new Error(`${command} ${args.join(" ")}:\n${said}`);
  return stdout;
}

export interface Program {
  readonly child: ChildProcess;
  /** What it said, once that matches. */
  readonly said: (what: RegExp) => Promise<string>;
}

export function start(
  folder: string,
  [command = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Program {
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...environment(), ...quiet, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // With its children, so that a kill takes all of them.
    detached: true,
  });
  running.add(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (part: Buffer) => (text += part.toString()));
  const said = (what: RegExp): Promise<string> =>
    until(
      () => `${command} ${args.join(" ")} to say ${what}; it said:\n${text}`,
      () => {
        if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}:\n${text}`);
        return what.exec(text)?.[1] ?? null;
      },
    );
  return { child, said };
}

export async function kill(child: ChildProcess): Promise<void> {
  running.delete(child);
  if (child.pid === undefined) return;
  const ended = child.exitCode !== null || child.signalCode !== null;
  const closed = new Promise((resolve) => child.once("exit", resolve));
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // All of its processes have ended.
  }
  if (!ended) await closed;
}

/** Kills all that was started. */
export async function killAll(): Promise<void> {
  for (const child of running) await kill(child);
}

/** Asks again and again. `what` is for the message, if that is in vain. */
export async function until<T>(
  what: string | (() => string),
  look: () => Promise<T | null> | T | null,
): Promise<T> {
  for (const end = Date.now() + patienceMs; Date.now() < end;) {
    const found = await look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`Waited in vain for ${typeof what === "string" ? what : what()}`);
}

export function freePort(): number {
  return 20_000 + Math.floor(Math.random() * 20_000);
}

/** Waits until a server answers. */
export async function answers(url: string): Promise<void> {
  await until(`an answer of ${url}`, () =>
    fetch(url).then(
      ({ ok }) => (ok ? true : null),
      () => null,
    ),
  );
}

export function same(found: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`It gave ${a} instead of ${b}.`);
}
