/**
 * What long work says about itself while it runs. Proven in test/engine/calls/heartbeat.test.ts.
 *
 * beats.1. At most one progress is recorded in `everyMs`: the last one. A failed attempt records its last one at once.
 * beats.2. After the end of its attempt, work says nothing more.
 */

import type { Json } from "../../values/codec/tags.ts";
import type { World } from "../../ports/world.ts";

/** How far apart recorded progress is. Work that a crash interrupts has this much to do again, at most. */
const everyMs = 30_000;
const mostWords = 80;

/** Progress as people see it beside the step, as the last words of a stream. */
export function inWords(progress: unknown, json: Json): string {
  return (typeof progress === "string" ? progress : JSON.stringify(json)).slice(0, mostWords);
}

export class Beats {
  readonly #world: World;
  readonly #record: (progress: Json) => void;
  /** When progress was last recorded, or the attempt began. */
  #at: number;
  #waiting: { readonly progress: Json } | null = null;
  #cancel: (() => void) | null = null;
  #over = false;
  /** Called at each beat. */
  heard: () => void = () => {};

  constructor(world: World, record: (progress: Json) => void) {
    this.#world = world;
    this.#record = record;
    this.#at = world.now();
  }

  /** A sign of life, with what was reached or without. */
  beat(progress?: Json): void {
    if (this.#over) return;
    this.heard();
    if (progress === undefined) return;
    this.#waiting = { progress };
    const ms = Math.max(0, this.#at + everyMs - this.#world.now());
    this.#cancel ??= this.#world.timer(ms, () => this.#write());
  }

  /** The attempt is over. `failed`: another attempt may need what this one has reached. */
  end({ failed }: { readonly failed: boolean }): void {
    this.#over = true;
    if (failed) this.#write();
    this.#cancel?.();
  }

  #write(): void {
    this.#cancel?.();
    this.#cancel = null;
    const { progress } = this.#waiting ?? {};
    this.#waiting = null;
    if (progress === undefined) return;
    this.#at = this.#world.now();
    this.#record(progress);
  }
}
