/**
 * One life of one simulated process: its clock, its randomness, and the replies it has got. A dead process
 * gets no more replies, but requests it had sent may still arrive. Proven in test/sim.test.ts.
 */

import type { WorkerOptions, World } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import type { Random } from "@durable/testing";
import type { History } from "./history.ts";
import { isSettlement, type AppliedBatch, type RunLog } from "./run-log.ts";
import type { Owner, Scheduler } from "./scheduler.ts";

export interface ProcessParts {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly history: History;
  readonly random: Random;
  /** A random stream of its own, so that leaving out one fault changes nothing else. */
  readonly faults: Random;
  readonly skewMs: number;
  readonly priority: number;
  readonly died: () => void;
  /** How much time passes when the process reads its clock; none if missing. */
  readonly passing?: () => number;
  /** Called for each warning of the library. */
  readonly warned: (message: string) => void;
}

/** What a process was last told of paused workflows. */
interface PausesTold {
  /** The number of its request: replies may overtake each other. */
  readonly request: number;
  readonly at: number;
  readonly paused: ReadonlySet<string>;
}

export class Process implements Owner {
  readonly name: string;
  readonly world: World;
  readonly random: Random;
  readonly faults: Random;
  readonly history: History;
  readonly scheduler: Scheduler;
  priority: number;
  alive = true;
  /** Aborts when it dies: no database waits for a process that is gone. */
  readonly #gone = new AbortController();
  pausedUntil = 0;
  skewMs: number;
  /** The process was terminated and is expected to end. */
  asked = false;
  /** What a worker in it is kept to. */
  kept: Pick<WorkerOptions, "workflows" | "versions"> = {};
  pausesTold: PausesTold | null = null;
  /** Code is about to log, and then to make a step. */
  comes = false;
  /** The run whose code has just logged. */
  lastLine: string | null = null;
  /** When the last change of a limit was applied, and when its reply came. */
  lastSwap: { readonly at: number; readonly toldAt: number } | null = null;
  /** Runs with a body running here, and how many bodies. */
  readonly busy = new Map<RunLog, number>();
  readonly #leased = new Map<string, number>();
  /**
   * Keys of each run whose settlement reached this process, `cancelled` for runs whose cancellation did, and
   * `continued` for chapters whose end did.
   */
  readonly #shown = new Map<RunLog, Set<string>>();
  readonly #died: () => void;
  #terminate: () => void = () => {};

  constructor(parts: ProcessParts) {
    this.name = parts.name;
    this.random = parts.random;
    this.faults = parts.faults;
    this.history = parts.history;
    this.scheduler = parts.scheduler;
    this.priority = parts.priority;
    this.skewMs = parts.skewMs;
    this.#died = parts.died;
    const { scheduler } = parts;
    parts.history.steady.disturb(parts.name);
    this.world = {
      now: () => {
        if (this.alive) scheduler.pass(parts.passing?.() ?? 0);
        return this.clock;
      },
      id: () => this.#id(),
      nonce: (name) => parts.history.marks.nonce(name, () => this.#id().slice(0, 16)),
      random: () => this.random.next(),
      timer: (ms, fire) => scheduler.after(ms, this, fire),
      drain: () => systemWorld.drain(),
      turn: () => new Promise((resolve) => void scheduler.after(0, this, resolve)),
      warn: (message) => {
        this.history.say(this.name, `warns: ${message}`);
        parts.warned(message);
      },
      log: (level, message, { runId }) => {
        this.lastLine = String(runId);
        this.history.say(this.name, `logs ${level} of ${this.lastLine}: ${message}`);
      },
      onTerminate: (stop) => {
        this.#terminate = stop;
        return () => {
          this.#terminate = () => {};
        };
      },
    };
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.scheduler.after(ms, this, resolve));
  }

  kill(why: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.#gone.abort();
    this.history.dead.add(this.name);
    this.history.say(this.name, `dies: ${why}`);
    this.#died();
  }

  /** A signal that aborts as the given one does, and when this process dies. */
  whileAlive(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#gone.signal]);
  }

  /** Asks the process to end, like SIGTERM. */
  terminate(): void {
    this.history.say(this.name, "is asked to end");
    this.asked = true;
    this.#terminate();
  }

  /** The time by its own clock. */
  get clock(): number {
    return Math.floor(this.scheduler.now + this.skewMs);
  }

  /** Its time when the event that runs now began. */
  get clockAtTurn(): number {
    return Math.floor(this.scheduler.turnAt + this.skewMs);
  }

  /** Notes that the process requests or extends a lease. */
  leases(locator: string, ttlMs: number): void {
    // Several drivers of one run may live here, and setting the clock back does not shorten a lease.
    this.#leased.set(locator, Math.max(this.leasedUntil(locator), this.clock + ttlMs));
  }

  leasedUntil(locator: string): number {
    return this.#leased.get(locator) ?? 0;
  }

  /** Notes that a reply of the storage has reached this process. */
  noteReply(run: RunLog, batches: readonly AppliedBatch[]): void {
    const keys = this.#keysOf(run);
    for (const { entries } of batches) {
      for (const { kind, key = "" } of entries) {
        if (isSettlement(kind)) keys.add(key);
        if (kind === "run.cancelled") keys.add("cancelled");
        if (kind === "run.cancelling") keys.add("cancelling");
        if (kind === "run.paused") keys.add("paused");
        if (kind === "run.unpaused" || kind === "run.cancelling") keys.delete("paused");
        if (kind === "run.continued" && run.earlier !== undefined) this.#keysOf(run.earlier).add("continued");
      }
    }
  }

  #keysOf(run: RunLog): Set<string> {
    const keys = this.#shown.get(run) ?? new Set();
    this.#shown.set(run, keys);
    return keys;
  }

  knows(run: RunLog, key: string): boolean {
    return this.#shown.get(run)?.has(key) === true;
  }

  #id(): string {
    let id = "";
    while (id.length < 26) id += (this.random.next() * 2 ** 50).toString(32).slice(0, 8);
    return id.slice(0, 26).replaceAll(".", "a");
  }
}
