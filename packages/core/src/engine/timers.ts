/** The open waits of one drive: which call wants to be looked at when, and which wait without a time. */

import type { World } from "../world.ts";
import type { Call } from "./calls.ts";

export class Timers {
  readonly #world: World;
  readonly #ring: () => void;
  readonly #waits = new Map<Call, number | null>();
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

  /** A call waits until `at`, or for the outside alone. */
  wait(call: Call, at: number | null): void {
    this.#waits.set(call, at);
    this.#changed();
  }

  cancel(call: Call): void {
    if (this.#waits.delete(call)) this.#changed();
  }

  earliest(): number | null {
    return this.#earliest;
  }

  /** Tells every call whose time has come, by the driver's clock; each is told once. */
  fire(): void {
    const now = this.#world.now();
    if (this.#earliest === null || this.#earliest > now) return this.#arm();
    for (const [call, at] of this.#waits) {
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
    for (const at of this.#waits.values())
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
