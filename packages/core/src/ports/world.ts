/**
 * The one door through which clock, chance, timers and the event loop reach the engine (law 11).
 * The simulator passes its own; nothing else in core may read `Date.now`, `Math.random` or a timer.
 */

import { base32 } from "../values/hash.ts";
import { scrub } from "../values/scrub.ts";

/**
 * Clock, random source, timers and event loop, as the engine sees them. Tests and the simulator pass their
 * own.
 */
export interface World {
  /** Milliseconds since the epoch. */
  now(): number;
  /** A new random id: 26 base32 characters, 130 bits. */
  id(): string;
  /** A random number in [0, 1): only for jitter, never for values that a workflow sees. */
  random(): number;
  /** Calls `fire` once after `ms`, however long that is; returns a function that cancels it. */
  timer(ms: number, fire: () => void): () => void;
  /** Resolves when all queued microtasks, and those they queue, have run. */
  drain(): Promise<void>;
  /** Resolves in a later turn of the event loop. */
  turn(): Promise<void>;
  /** Prints a warning. */
  warn(message: string): void;
  /** Calls `stop` once when the process is asked to end; returns a function that cancels it. */
  onTerminate(stop: () => void): () => void;
}

/** `setTimeout` fires at once past 2^31 - 1 ms (24.8 days): longer waits are walked in pieces. */
const longestTimer = 2 ** 31 - 1;

function timer(ms: number, fire: () => void): () => void {
  let handle: ReturnType<typeof setTimeout>;
  const arm = (left: number): void => {
    handle = setTimeout(
      () => (left > longestTimer ? arm(left - longestTimer) : fire()),
      Math.min(Math.max(left, 0), longestTimer),
    );
  };
  arm(ms);
  return () => clearTimeout(handle);
}

type Host = {
  setImmediate?: (callback: () => void) => unknown;
  process?: {
    nextTick?: (callback: () => void) => void;
    once?: (signal: "SIGTERM", listener: () => void) => unknown;
    off?: (signal: "SIGTERM", listener: () => void) => unknown;
  };
  navigator?: { userAgent?: string };
};
const host = globalThis as Host;

const macrotask: (callback: () => void) => unknown =
  host.setImmediate ?? ((callback) => setTimeout(callback, 0));

/**
 * On Node a tick queued from a microtask runs only once the microtask queue is empty, and costs a
 * tenth of a turn of the event loop. Elsewhere a macrotask is the only barrier known to hold. Others have a
 * `process` with a version of Node, too, and ticks that are mere microtasks: only Node gives itself this name.
 */
const nextTick = host.navigator?.userAgent?.startsWith("Node.js/") ? host.process?.nextTick : undefined;

const turn = (): Promise<void> => new Promise((resolve) => macrotask(resolve));
// Twice: a stream of the platform that was split takes a tick of its own at its end, and model SDKs split theirs.
const drain = nextTick
  ? (): Promise<void> =>
      new Promise((resolve) => queueMicrotask(() => nextTick(() => queueMicrotask(() => nextTick(resolve)))))
  : turn;

/** The real clock, random source and timers. */
export const systemWorld: World = {
  now: () => Date.now(),
  id: () => base32(crypto.getRandomValues(new Uint8Array(17)), 26),
  random: () => Math.random(),
  timer,
  drain,
  turn,
  warn: (message) => console.warn(scrub(`durable: ${message}`)),
  onTerminate: (stop) => {
    host.process?.once?.("SIGTERM", stop);
    return () => host.process?.off?.("SIGTERM", stop);
  },
};

/** Settles after a time, or on abort; leaves nothing behind either way. */
export function pause(world: World, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = world.timer(ms, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Waits longer after each try, with jitter, and never longer than five seconds. */
export function backOff(world: World, tries: number): Promise<void> {
  return pause(world, Math.min(5_000, 20 * 2 ** tries) * (0.5 + world.random() / 2));
}
