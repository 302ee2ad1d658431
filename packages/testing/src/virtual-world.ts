/**
 * A world with virtual time: a wait of thirty days costs nothing, and one seed gives one history. Time stands
 * still while work is running and jumps to the next timer when none is, so the cost of a span of time is the
 * number of timers that fire in it.
 */

import type { LogFields, Logger, World } from "@durable/core";
import { assertOptions, fingerprint, systemWorld } from "@durable/core/storage";
import { seeded } from "./random.ts";

/** A world whose time passes only when a test lets it. */
export interface VirtualWorld extends World {
  /** Lets virtual time pass until `work` settles. Rejects when nothing is left that could settle it. */
  run<T>(work: Promise<T> | (() => Promise<T>)): Promise<T>;
  /** Moves the clock, and fires the timers that become due. */
  advance(ms: number): Promise<void>;
  /** Warnings so far. */
  readonly warnings: readonly string[];
  /** Lines of `ctx.log` so far, unless there is a `logger`. */
  readonly lines: readonly LogLine[];
}

/** A line of `ctx.log`. */
export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: LogFields;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** Options of `virtualWorld`. */
export interface VirtualWorldOptions {
  /** For ids and jitter; 1 by default. */
  readonly seed?: number | undefined;
  /** The time at the start; 2026-01-01 by default. */
  readonly start?: number | undefined;
  /** Called before time passes: waits for work in real time, and returns true if there was any. */
  readonly hold?: (() => Promise<boolean>) | undefined;
}

/** Turns of the real event loop without activity before time may pass. */
const quietTurns = 3;
/**
 * Turns without a timer, and real milliseconds after them, before a promise counts as one that nothing can
 * settle.
 */
const stuckTurns = 2_000;
const stuckMs = 1_000;
// Work in threads, such as Web Crypto, can take longer than any number of turns on a busy machine.
const { setTimeout: later } = globalThis;

/** Timers in the order they are due; the time is that of the last one that fired. */
class Clock {
  now: number;
  /** Grows with every activity that may lead to more. */
  signs = 0;
  readonly #hold: () => Promise<boolean>;
  /** The next one is the last, so that a jump moves nothing. */
  readonly #timers: Timer[] = [];
  #order = 0;

  constructor(start: number, hold: () => Promise<boolean>) {
    this.now = start;
    this.#hold = hold;
  }

  timer(ms: number, fire: () => void): () => void {
    this.signs += 1;
    const timer: Timer = { at: this.now + Math.max(0, ms), order: this.#order++, fire };
    this.#timers.splice(this.#place(timer), 0, timer);
    return () => this.#remove(timer);
  }

  /** Jumps to the next timer due by `until` and fires it; false when there is none. */
  jump(until: number): boolean {
    const next = this.#timers.at(-1);
    if (next === undefined || next.at > until) return false;
    this.#timers.pop();
    this.now = Math.max(this.now, next.at);
    next.fire();
    return true;
  }

  #remove(timer: Timer): void {
    const place = this.#place(timer);
    if (this.#timers[place] === timer) this.#timers.splice(place, 1);
  }

  /** Where a timer is, or belongs: behind all that fire later. */
  #place({ at, order }: Timer): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#timers[middle] as Timer;
      if (other.at > at || (other.at === at && other.order > order)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Settles when the real event loop was idle for a few turns and `hold` has nothing to wait for. */
  async quiet(): Promise<void> {
    do {
      for (let calm = 0, seen = this.signs; calm < quietTurns; calm++) {
        await systemWorld.turn();
        if (this.signs !== seen) calm = 0;
        seen = this.signs;
      }
    } while (await this.#hold());
  }

  async run<T>(promise: Promise<T>): Promise<T> {
    const state = { settled: false };
    const note = (): void => {
      state.settled = true;
    };
    promise.then(note, note);
    for (let idle = 0; idle < stuckTurns + stuckMs; idle++) {
      if (idle >= stuckTurns) await new Promise<void>((resolve) => void later(resolve, 1));
      await this.quiet();
      if (state.settled) return promise;
      if (this.jump(Number.POSITIVE_INFINITY)) idle = 0;
    }
    throw new Error(
      `Nothing is left that could settle this promise, at ${new Date(this.now).toISOString()}.`,
    );
  }
}

/** Creates a world with virtual time, for `durable(..., { world })`. */
export function virtualWorld(options: VirtualWorldOptions = {}): VirtualWorld {
  assertOptions(options, "seed start hold", "virtualWorld");
  const { seed = 1, start = Date.UTC(2026, 0, 1), hold = () => Promise.resolve(false) } = options;
  const random = seeded(seed);
  const clock = new Clock(start, hold);
  const warnings: string[] = [];
  const lines: LogLine[] = [];
  return {
    warnings,
    lines,
    now: () => clock.now,
    id: () =>
      Array.from({ length: 26 }, () => "abcdefghijklmnopqrstuvwxyz234567"[random.between(0, 31)]).join(""),
    // A run that is recorded again after a crash draws the same values as one without a crash.
    nonce: (runId) => fingerprint([seed, runId], "nonce"),
    random: () => random.next(),
    timer: (ms, fire) => clock.timer(ms, fire),
    drain: () => {
      clock.signs += 1;
      return systemWorld.drain();
    },
    turn: () => {
      clock.signs += 1;
      return systemWorld.turn();
    },
    warn: (message) => void warnings.push(message),
    log: (level, message, fields) => void lines.push({ level, message, fields }),
    onTerminate: () => () => {},
    run: (work) => clock.run(typeof work === "function" ? Promise.resolve().then(work) : work),
    advance: async (ms) => {
      const until = clock.now + ms;
      do await clock.quiet();
      while (clock.jump(until));
      clock.now = until;
    },
  };
}
