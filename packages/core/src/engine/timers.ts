/** The open waits of one drive: which call wants to be looked at when, and which wait without a time. */

import type { World } from "../world.ts";
import type { Call } from "./calls.ts";

/** When a call wants to be looked at; `null` when only the outside can settle it. */
interface Wait {
  readonly at: number | null;
  /** Somebody is asked for an answer: its deadline is no reason to sit and wait. */
  readonly outside: boolean;
}

export class Timers {
  readonly #world: World;
  readonly #ring: () => void;
  readonly #waits = new Map<Call, Wait>();
  #earliest: number | null = null;
  #alarm: { readonly at: number; readonly cancel: () => void } | null = null;

  constructor(world: World, ring: () => void) {
    this.#world = world;
    this.#ring = ring;
  }

  /** How many calls wait, with or without a time. */
  get waiting(): number {
    return this.#waits.size;
  }

  wait(call: Call, at: number | null, outside = false): void {
    this.#waits.set(call, { at, outside });
    this.#changed();
  }

  cancel(call: Call): void {
    if (this.#waits.delete(call)) this.#changed();
  }

  earliest(): number | null {
    return this.#earliest;
  }

  /** True when a sleep or a retry ends within `ms`. */
  endsWithin(ms: number): boolean {
    const until = this.#world.now() + ms;
    if (this.#earliest === null || this.#earliest > until) return false;
    for (const { at, outside } of this.#waits.values())
      if (at !== null && !outside && at <= until) return true;
    return false;
  }

  /** Tells every call whose time has come, by the driver's clock; each is told once. */
  fire(): void {
    const now = this.#world.now();
    if (this.#earliest === null || this.#earliest > now) return this.#arm();
    for (const [call, { at }] of this.#waits) {
      if (at === null || at > now) continue;
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
    for (const { at } of this.#waits.values())
      if (at !== null && (earliest === null || at < earliest)) earliest = at;
    this.#earliest = earliest;
    this.#arm();
  }

  /** An alarm that rang early, by a clock that was set back, is set again. */
  #arm(): void {
    const at = this.#earliest;
    if (at === (this.#alarm?.at ?? null)) return;
    this.clear();
    if (at === null) return;
    const cancel = this.#world.timer(at - this.#world.now(), () => {
      this.#alarm = null;
      this.#ring();
    });
    this.#alarm = { at, cancel };
  }
}
