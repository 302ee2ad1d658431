/** The places of runs in the order of creation. The entry of a millisecond goes with its last run. */

import { placeFor, placesOfMs } from "../../ports/storage-kit.ts";

export class Places {
  /** By the first place of a millisecond. */
  readonly #taken = new Map<number, { readonly last: number; readonly runs: number }>();

  take(createdAt: number): number {
    const place = placeFor(createdAt, (from) => this.#taken.get(from)?.last);
    this.#count(place, 1);
    return place;
  }

  leave(place: number): void {
    this.#count(place, -1);
  }

  #count(place: number, change: number): void {
    const from = place - (place % placesOfMs);
    const { last, runs } = this.#taken.get(from) ?? { last: place, runs: 0 };
    if (runs + change === 0) this.#taken.delete(from);
    else this.#taken.set(from, { last: Math.max(last, place), runs: runs + change });
  }
}
