/** Which processes nothing disturbs, and what can be expected then. Proven by the planted bugs of `npm run sim:mutants`. */

/** What the plan of a simulation allows to expect. */
export interface Bounds {
  /** Clocks that pass while processes compute make everything late. */
  readonly isBusy: boolean;
  /** Workers check schedules when their ticks come. Sweeps do it between runs, and a worker that was killed once it is back. */
  readonly isPunctual: boolean;
  /** How soon a due run is found once nothing disturbs it; `null` where too much else decides about that. */
  readonly foundWithinMs: number | null;
  /** How long requests may still be on their way after faults have ended. */
  readonly settledMs: number;
  /** How long clean-ups may take; `null` if nothing says so. */
  readonly cleanUpMs: number | null;
}

export class Steadiness {
  readonly #now: () => number;
  readonly #isBusy: boolean;
  readonly isPunctual: boolean;
  readonly foundWithinMs: number | null;
  readonly settledMs: number;
  readonly cleanUpMs: number | null;
  /** When faults ended. */
  healedAt = Number.POSITIVE_INFINITY;
  /** When the last attempt under a limit ended. */
  permitFreeAt = 0;
  readonly #since = new Map<string, number>();

  constructor(now: () => number, bounds: Bounds) {
    this.#now = now;
    this.#isBusy = bounds.isBusy;
    this.isPunctual = bounds.isPunctual;
    this.foundWithinMs = bounds.foundWithinMs;
    this.settledMs = bounds.settledMs;
    this.cleanUpMs = bounds.cleanUpMs;
  }

  /** A process begins, or is disturbed for some time from now on. */
  disturb(process: string, ms = 0): void {
    this.#since.set(process, Math.max(this.#since.get(process) ?? 0, this.#now() + ms));
  }

  /** True when a process was not disturbed since this time. */
  has(process: string, since: number): boolean {
    return !this.#isBusy && (this.#since.get(process) ?? Infinity) <= since;
  }
}
