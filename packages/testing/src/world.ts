/**
 * A world whose time is yours: a wait of thirty days costs nothing, and one seed gives one history.
 * Time stands still while anything is happening and jumps to the next timer when nothing is.
 */

import { systemWorld, type World } from "@durable/core";
import { seeded } from "./random.ts";

export interface VirtualWorld extends World {
  /** Lets virtual time pass until `work` settles. Rejects when nothing is left that could settle it. */
  run<T>(work: Promise<T> | (() => Promise<T>)): Promise<T>;
  /** Moves the clock by hand, firing what falls due on the way. */
  advance(ms: number): Promise<void>;
  /** What was warned about. */
  readonly warnings: readonly string[];
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

export interface VirtualWorldOptions {
  /** Ids and jitter come from it; 1 by default. */
  readonly seed?: number;
  /** Time at the start; 2026-01-01 by default. */
  readonly start?: number;
}

/** Turns of the real event loop without any sign of life before time may pass. */
const quietTurns = 3;
/** Turns without a timer before a promise is given up as one that nothing can settle. */
const stuckTurns = 2_000;

export function virtualWorld(options: VirtualWorldOptions = {}): VirtualWorld {
  const { seed = 1, start = Date.UTC(2026, 0, 1) } = options;
  const random = seeded(seed);
  const warnings: string[] = [];
  let timers: Timer[] = [];
  let now = start;
  let order = 0;
  let signs = 0;

  const timer = (ms: number, fire: () => void): (() => void) => {
    signs += 1;
    const entry: Timer = { at: now + Math.max(0, ms), order: order++, fire };
    timers.push(entry);
    return () => {
      timers = timers.filter((other) => other !== entry);
    };
  };

  /** Settles when the real event loop has shown no sign of life for a few turns. */
  const quiet = async (): Promise<void> => {
    for (let calm = 0, seen = signs; calm < quietTurns; calm++) {
      await systemWorld.turn();
      if (signs !== seen) calm = 0;
      seen = signs;
    }
  };

  /** Jumps to the next timer due by `until` and fires it; false when there is none. */
  const jump = (until: number): boolean => {
    const next = timers.reduce<Timer | null>(
      (best, t) => (best === null || t.at < best.at || (t.at === best.at && t.order < best.order) ? t : best),
      null,
    );
    if (next === null || next.at > until) return false;
    timers = timers.filter((other) => other !== next);
    now = Math.max(now, next.at);
    next.fire();
    return true;
  };

  return {
    warnings,
    now: () => now,
    id: () =>
      Array.from({ length: 26 }, () => "abcdefghijklmnopqrstuvwxyz234567"[random.between(0, 31)]).join(""),
    random: () => random.next(),
    timer,
    drain: () => {
      signs += 1;
      return systemWorld.drain();
    },
    turn: () => {
      signs += 1;
      return systemWorld.turn();
    },
    warn: (message) => void warnings.push(message),
    onTerminate: () => () => {},
    run: async (work) => {
      const promise = typeof work === "function" ? work() : work;
      let settled = false;
      const done = (): void => {
        settled = true;
      };
      promise.then(done, done);
      for (let idle = 0; !settled && idle < stuckTurns; idle++) {
        await quiet();
        if (!settled && jump(Number.POSITIVE_INFINITY)) idle = 0;
      }
      if (!settled)
        throw new Error(`Nothing is left that could settle this promise, at ${new Date(now).toISOString()}.`);
      return promise;
    },
    advance: async (ms) => {
      const until = now + ms;
      do await quiet();
      while (jump(until));
      now = until;
    },
  };
}
