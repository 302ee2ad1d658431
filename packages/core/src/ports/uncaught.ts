/**
 * Errors that nothing caught: rejections without a handler, and throws in callbacks.
 *
 * uncaught.1. An error of a run's code is reported to that run, and the process goes on.
 * uncaught.2. Any other error stays what it is without this library: listeners of the program get it, or the process
 *     ends. Before it ends, the runs that it drives are released, so that they are due at once and no start is counted.
 */

import { ownerNow } from "./async-context.ts";

type Event = "unhandledRejection" | "uncaughtException";

interface Process {
  readonly execArgv?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  on(event: Event, listener: (error: unknown) => void): unknown;
  off(event: Event, listener: (error: unknown) => void): unknown;
  listenerCount(event: Event): number;
}

const { process } = globalThis as { process?: Partial<Process> };

/** What must be done before the process ends, by the drives that are under way. */
const drives = new Set<() => Promise<void>>();
const longestGoodbyeMs = 1_000;

const onRejection = (reason: unknown): void => caught("unhandledRejection", reason);
const onException = (error: unknown): void => caught("uncaughtException", error);

/** Reports errors to their runs until the returned function is called; `release` gives up what is driven here. */
export function guard(release: () => Promise<void>): () => void {
  drives.add(release);
  if (drives.size === 1) listen("on");
  return () => {
    if (drives.delete(release) && drives.size === 0) listen("off");
  };
}

function listen(how: "on" | "off"): void {
  if (typeof process?.listenerCount !== "function") return;
  process[how]?.("unhandledRejection", onRejection);
  process[how]?.("uncaughtException", onException);
}

function caught(event: Event, error: unknown): void {
  const owner = ownerNow();
  if (owner !== undefined) return owner.blame(error);
  if ((process?.listenerCount?.(event) ?? 0) > 1) return;
  if (event === "unhandledRejection" && isTolerated()) return;
  void goodbye(error);
}

/** The program asked its runtime to go on after such rejections. */
function isTolerated(): boolean {
  const flags = [...(process?.execArgv ?? []), process?.env?.["NODE_OPTIONS"] ?? ""].join(" ");
  return /--unhandled-rejections[= ](?:warn|none)/.test(flags);
}

/** Ends the process as it would have ended without this library, once its runs are released. */
async function goodbye(reason: unknown): Promise<void> {
  const releases = [...drives].map((release) => release());
  drives.clear();
  listen("off");
  const late = new Promise((resolve) => setTimeout(resolve, longestGoodbyeMs));
  const released = Promise.allSettled(releases);
  await Promise.race([released, late]);
  setTimeout(() => {
    throw reason;
  }, 0);
}
