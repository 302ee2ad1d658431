/**
 * One heap of events for every process of a simulation. Time stands still while an event runs, unless the
 * plan says otherwise, and events of the same moment fire in an order drawn from the seed.
 *
 * V1. One event at a time; everything it starts in this turn ends before the next one fires.
 * V2. Events of a dead process never fire; those of a paused one fire when it resumes.
 *
 * Proven in test/sim.test.ts.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { systemWorld } from "@durable/core/storage";
import type { Random } from "@durable/testing";

/** The process that an event belongs to. */
export interface Owner {
  alive: boolean;
  pausedUntil: number;
  /** Among events of one moment the lowest fires first; equal where the order is random. */
  priority: number;
}

interface Event {
  at: number;
  priority: number;
  tie: number;
  readonly owner: Owner | null;
  fire: (() => void) | null;
}

export interface SchedulerOptions {
  readonly start: number;
  readonly random: Random;
  /**
   * Event counts at which the firing process loses its priority: the change points of a priority schedule.
   */
  readonly changePoints?: readonly number[];
  /** Settles when work that an event started outside of virtual time is over. */
  readonly settled?: () => Promise<unknown>;
}

export class Scheduler {
  now: number;
  /** When the event that runs now began; `now` may have moved on since. */
  turnAt: number;
  /** Events fired so far. */
  fired = 0;
  readonly #random: Random;
  readonly #changePoints: ReadonlySet<number>;
  readonly #settled: (() => Promise<unknown>) | undefined;
  readonly #heap: Event[] = [];

  constructor(options: SchedulerOptions) {
    this.now = this.turnAt = options.start;
    this.#random = options.random;
    this.#changePoints = new Set(options.changePoints);
    this.#settled = options.settled;
  }

  /** Calls `fire` after `ms`; returns a function that cancels it. */
  after(ms: number, owner: Owner | null, fire: () => void): () => void {
    const at = this.now + Math.max(0, ms);
    // Like a timer of the runtime, an event keeps the context in which it was made.
    const inContext = AsyncLocalStorage.snapshot();
    const event: Event = {
      at,
      priority: owner?.priority ?? 0,
      tie: this.#random.next(),
      owner,
      fire: () => inContext(fire),
    };
    this.#push(event);
    return () => {
      event.fire = null;
    };
  }

  /** Fires events until `done` is true, no event is left, or the clock would pass `until`. */
  async run(
    done: () => boolean,
    until: number,
    mostEvents: number,
  ): Promise<"done" | "idle" | "late" | "busy"> {
    for (let fired = 0; ;) {
      if (done()) return "done";
      const event = this.#heap[0];
      if (event === undefined) return "idle";
      if (event.at > until) return "late";
      if (fired >= mostEvents) return "busy";
      this.#pop();
      const { owner, fire } = event;
      if (fire === null || owner?.alive === false) continue;
      if (owner !== null && owner.pausedUntil > event.at) {
        event.at = owner.pausedUntil;
        event.tie = this.#random.next();
        this.#push(event);
        continue;
      }
      this.now = this.turnAt = Math.max(this.now, event.at);
      fired += 1;
      this.fired += 1;
      if (owner !== null && this.#changePoints.has(this.fired)) owner.priority += 10;
      event.fire = null;
      fire();
      // Continues after every microtask and tick of this event has run.
      await systemWorld.turn();
      if (this.#settled !== undefined) await this.#settled();
    }
  }

  /** Time passes while an event runs: work takes time, and a process may stall in the middle of it. */
  pass(ms: number): void {
    this.now += ms;
  }

  /** Skips time in which nothing happens; events due meanwhile fire late. */
  skipTo(time: number): void {
    this.now = Math.max(this.now, time);
  }

  /** Events that would still fire. */
  pending(): number {
    return this.#heap.filter(({ fire, owner }) => fire !== null && owner?.alive !== false).length;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(event);
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up] as Event;
      if (!isBefore(event, parent)) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Event;
    const size = heap.length;
    if (size === 0) return;
    let i = 0;
    for (;;) {
      let down = 2 * i + 1;
      if (down >= size) break;
      const right = heap[down + 1];
      if (right !== undefined && isBefore(right, heap[down] as Event)) down += 1;
      const child = heap[down] as Event;
      if (!isBefore(child, last)) break;
      heap[i] = child;
      i = down;
    }
    heap[i] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at !== b.at ? a.at < b.at : a.priority !== b.priority ? a.priority < b.priority : a.tie < b.tie;
}
