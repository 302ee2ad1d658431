/**
 * The open waits of one drive: when each call is due, if it has a time at all. A change costs the logarithm of the number
 * of waits, because a run may have thousands of them.
 */

import type { World } from "../ports/world.ts";
import { Heap } from "./heap.ts";
import type { Call } from "./registry.ts";

interface Wait {
  readonly call: Call;
  /** When the call is due; `null` when only an entry from outside can settle it. */
  readonly at: number | null;
  /** Its time does not hold the run in memory: it is that of another run, or only limits a call. */
  readonly outside: boolean;
  /** When to check if no notification came; `null` where one is certain. */
  readonly recheckAt: number | null;
  /** Its place among the waits. */
  readonly order: number;
}

export class Timers {
  readonly #world: World;
  readonly #wake: () => void;
  readonly #waits = new Map<Call, Wait>();
  // A wait that was replaced or cancelled stays in its heaps until it comes first.
  readonly #ends = new Heap<Wait>();
  readonly #deadlines = new Heap<Wait>();
  readonly #rechecks = new Heap<Wait>();
  /** When the run itself fails. It wakes the run, and is not one of its waits. */
  deadline: number | null = null;
  #order = 0;
  #alarm: { readonly at: number; readonly cancel: () => void } | null = null;

  constructor(world: World, wake: () => void) {
    this.#world = world;
    this.#wake = wake;
  }

  /** How many calls wait, with or without a time. */
  get waiting(): number {
    return this.#waits.size;
  }

  wait(call: Call, at: number | null, how: { outside?: boolean; recheckAt?: number | null } = {}): void {
    const { outside = false, recheckAt = null } = how;
    const order = this.#waits.get(call)?.order ?? this.#order++;
    const wait = { call, at, outside, recheckAt, order };
    this.#waits.set(call, wait);
    if (at !== null) (outside ? this.#deadlines : this.#ends).push(at, wait);
    if (recheckAt !== null) this.#rechecks.push(recheckAt, wait);
    this.#arm();
  }

  cancel(call: Call): void {
    if (this.#waits.delete(call)) this.#arm();
  }

  /** The earliest deadline and the earliest check of all waits. */
  stops(): { readonly wakeAt: number | null; readonly recheckAt: number | null } {
    return {
      wakeAt: earlier(earlier(this.#next(this.#ends), this.#next(this.#deadlines)), this.deadline),
      recheckAt: this.#next(this.#rechecks),
    };
  }

  /** True when a sleep, a retry or the timeout of a wait ends within `ms`. */
  endsWithin(ms: number): boolean {
    const end = this.#next(this.#ends);
    return end !== null && end <= this.#world.now() + ms;
  }

  /**
   * Calls `due` once on every call whose time has come by the driver's clock, in the order in which their waits began. A
   * wait that begins meanwhile is left for the next time, even if it is due at once.
   */
  fire(): void {
    if (this.#waits.size === 0 && this.deadline === null) return;
    const now = this.#world.now();
    const due = new Set<Wait>();
    for (const heap of [this.#ends, this.#deadlines, this.#rechecks])
      for (let at = this.#next(heap); at !== null && at <= now; at = this.#next(heap))
        due.add(heap.pop() as Wait);
    for (const wait of [...due].toSorted((a, b) => a.order - b.order)) {
      const { call } = wait;
      if (this.#waits.get(call) !== wait) continue;
      this.#waits.delete(call);
      if (!call.scope.closed) call.due();
    }
    this.#arm();
  }

  clear(): void {
    this.#alarm?.cancel();
    this.#alarm = null;
  }

  /** The earliest time in a heap, without the waits that are over. */
  #next(heap: Heap<Wait>): number | null {
    for (;;) {
      const { first } = heap;
      if (first === undefined) return null;
      if (this.#waits.get(first.item.call) === first.item) return first.rank;
      heap.pop();
    }
  }

  get #earliest(): number | null {
    const { wakeAt, recheckAt } = this.stops();
    return earlier(wakeAt, recheckAt);
  }

  /** Sets the alarm again if it fired early because the clock was set back. */
  #arm(): void {
    const at = this.#earliest;
    if (at === (this.#alarm?.at ?? null)) return;
    this.clear();
    if (at === null) return;
    const cancel = this.#world.timer(at - this.#world.now(), () => {
      this.#alarm = null;
      this.#wake();
    });
    this.#alarm = { at, cancel };
  }
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null ? other : Math.min(one, other ?? one);
}
