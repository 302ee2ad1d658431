/**
 * The only access to clock, random source, timers and event loop (law 11). The simulator passes its own world, so
 * nothing else in core may use `Date.now`, `Math.random` or a timer.
 */

import { base32 } from "../values/hash.ts";
import { scrub, scrubFields } from "../values/scrub.ts";

/**
 * Clock, random source, timers and event loop, as the engine sees them. Tests and the simulator pass their
 * own.
 */
export interface World {
  /** Milliseconds since the epoch. */
  now(): number;
  /** A new random id: 26 base32 characters, 130 bits. */
  id(): string;
  /** Names a new incarnation of a run id; an `id` by default. A test that compares two runs may fix it. */
  nonce?(runId: string): string;
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
  /** Prints a line of `ctx.log`; to the console by default. */
  readonly log?: ((level: keyof Logger, message: string, fields: LogFields) => void) | undefined;
  /** Calls `stop` once when the process is asked to end; returns a function that cancels it. */
  onTerminate(stop: () => void): () => void;
}

/** What a log line carries beside its message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where lines are written: `console`, or a logger with the same methods. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** `setTimeout` fires at once for more than 2^31 - 1 ms (24.8 days), so longer waits use several timers. */
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

type Files = {
  openSync: (path: string) => number;
  readSync: (file: number, bytes: Uint8Array) => number;
  closeSync: (file: number) => void;
};
type Host = {
  setImmediate?: (callback: () => void) => unknown;
  process?: {
    nextTick?: (callback: () => void) => void;
    once?: (signal: "SIGTERM", listener: () => void) => unknown;
    off?: (signal: "SIGTERM", listener: () => void) => unknown;
    getBuiltinModule?: (name: "node:fs") => Files;
  };
  navigator?: { userAgent?: string };
};
const host = globalThis as Host;

const macrotask: (callback: () => void) => unknown =
  host.setImmediate ?? ((callback) => setTimeout(callback, 0));

/**
 * On Node a tick queued from a microtask runs only when the microtask queue is empty, and costs a tenth of a turn of the
 * event loop. On other platforms only a macrotask is known to be such a barrier. Some of them also have
 * `process.versions.node`, with ticks that are microtasks, so Node is recognized by its user agent.
 */
const nextTick = host.navigator?.userAgent?.startsWith("Node.js/") ? host.process?.nextTick : undefined;

const turn = (): Promise<void> => new Promise((resolve) => macrotask(resolve));
/** A promise queues a microtask at a fraction of what `queueMicrotask` of Node costs. */
const settled = Promise.resolve();
// Two ticks: at its end a web stream that was split with `tee()` uses a tick of its own, and model SDKs split streams.
const drain = nextTick
  ? (): Promise<void> =>
      new Promise((resolve) => {
        void settled.then(() => nextTick(() => void settled.then(() => nextTick(resolve))));
      })
  : turn;

/** How many ids of a process come from the file. */
const firstIds = 8;
let ids = 0;

/**
 * Node takes 8 ms to load Web Crypto, a tenth of a first run. The random source of the system, which seeds that too, is a file
 * on most of them.
 */
function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  if (nextTick && ids++ < firstIds)
    try {
      const files = host.process?.getBuiltinModule?.("node:fs") as Files;
      const file = files.openSync("/dev/urandom");
      const read = files.readSync(file, bytes);
      files.closeSync(file);
      if (read === length) return bytes;
    } catch {
      // Not on Windows, and not where files may not be read.
    }
  return crypto.getRandomValues(bytes);
}

/** The real clock, random source and timers. */
export const systemWorld: World = {
  now: () => Date.now(),
  id: () => base32(randomBytes(17), 26),
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

type Log = NonNullable<World["log"]>;

/** An error of a logger must not affect a run, whether it is thrown or rejected. */
const logTo =
  (logger: Logger): Log =>
  (level, message, fields) =>
    void (async () => logger[level](scrub(message), scrubFields(fields)))().catch(() => {});

export const toConsole: Log = /* @__PURE__ */ logTo(console);

/** A world whose warnings and lines go to a logger. */
export function withLogger(world: World, logger: Logger): World {
  const log = logTo(logger);
  return { ...world, log, warn: (message) => log("warn", `durable: ${message}`, {}) };
}

/** Resolves after a time, or on abort. Removes its timer and its listener in both cases. */
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

/** Waits longer after each attempt, with jitter, and at most five seconds. */
export function backOff(world: World, tries: number): Promise<void> {
  return pause(world, Math.min(5_000, 20 * 2 ** tries) * (0.5 + world.random() / 2));
}
