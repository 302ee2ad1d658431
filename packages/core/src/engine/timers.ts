/** The open waits of one drive: when each call is due, if it has a time at all. */

import type { World } from "../ports/world.ts";
import type { Call } from "./registry.ts";

interface Wait {
  /** When the call is due; `null` when only an entry from outside can settle it. */
  readonly at: number | null;
  /** Settled from outside, so its deadline is no reason to hold the run in memory. */
  readonly outside: boolean;
  /** When to check if no notification came; `null` where one is certain. */
  readonly recheckAt: number | null;
}

export class Timers {
  readonly #world: World;
  readonly #wake: () => void;
  readonly #waits = new Map<Call, Wait>();
  #earliest: number | null = null;
  #alarm: { readonly at: number; readonly cancel: () => void } | null = null;

  constructor(world: World, wake: () => void) {
    this.#world = world;
    this.#wake = wake;
  }

  /** How many calls wait, with or without a time. */
  get waiting(): number {
    return this.#waits.size;
  }

  wait(call: Call, at: number | null, how: Partial<Omit<Wait, "at">> = {}): void {
    const { outside = false, recheckAt = null } = how;
    this.#waits.set(call, { at, outside, recheckAt });
    this.#changed();
  }

  cancel(call: Call): void {
    if (this.#waits.delete(call)) this.#changed();
  }

  /** The earliest deadline and the earliest check of all waits. */
  stops(): { readonly wakeAt: number | null; readonly recheckAt: number | null } {
    const waits = [...this.#waits.values()];
    return {
      wakeAt: first(waits.map(({ at }) => at)),
      recheckAt: first(waits.map(({ recheckAt }) => recheckAt)),
    };
  }

  /** True when a sleep or a retry ends within `ms`. */
  endsWithin(ms: number): boolean {
    const until = this.#world.now() + ms;
    if (this.#earliest === null || this.#earliest > until) return false;
    for (const { at, outside } of this.#waits.values())
      if (at !== null && !outside && at <= until) return true;
    return false;
  }

  /** Calls `due` once on every call whose time has come by the driver's clock. */
  fire(): void {
    const now = this.#world.now();
    if (this.#earliest === null || this.#earliest > now) return this.#arm();
    for (const [call, { at, recheckAt }] of this.#waits) {
      if ((at === null || at > now) && (recheckAt === null || recheckAt > now)) continue;
      this.#waits.delete(call);
      if (!call.scope.closed) call.due();
    }
    this.#changed();
  }

  clear(): void {
    this.#alarm?.cancel();
    this.#alarm = null;
  }

  #changed(): void {
    let earliest: number | null = null;
    for (const { at, recheckAt } of this.#waits.values()) {
      if (at !== null && (earliest === null || at < earliest)) earliest = at;
      if (recheckAt !== null && (earliest === null || recheckAt < earliest)) earliest = recheckAt;
    }
    this.#earliest = earliest;
    this.#arm();
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

export function first(times: readonly (number | null)[]): number | null {
  let found: number | null = null;
  for (const time of times) if (time !== null && (found === null || time < found)) found = time;
  return found;
}
