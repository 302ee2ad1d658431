/**
 * What comes in time. Judged only where nothing disturbs it: a process is steady when it lives, and has met no fault, no
 * pause and no full disk for a while.
 *
 * I37. A steady driver keeps the lease of its run: it does not end before the driver releases it.
 * I38. After faults have ended, what is due begins soon: a run for which a worker has a place, the run of a tick, a call
 *      under a limit that is free, and the end of a clean-up whose time is over.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { History } from "./history.ts";
import type { NotedLease } from "./lease-notes.ts";
import { driverOf, type RunLog } from "./run-log.ts";

/** Since when each process is steady. */
export class Steadiness {
  readonly #now: () => number;
  /** Clocks that pass while processes compute make everything late. */
  readonly #isBusy: boolean;
  readonly #since = new Map<string, number>();

  constructor(now: () => number, isBusy: boolean) {
    this.#now = now;
    this.#isBusy = isBusy;
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

/** Runs when a driver gets a lease that it, or another one, had before. */
export function judgeLapse(history: History, run: RunLog | undefined, before: NotedLease): void {
  const { process, owner, since, until, ttlMs } = before;
  // It was given back: a driver asks for no time then.
  if (ttlMs === 0) return;
  if (run === undefined || run.deleted || run.tainted || history.dead.has(process)) return;
  if (!history.steady.has(process, Math.min(since, until - ttlMs))) return;
  // A batch of another driver, which came late, has ended this one.
  const isAlone = run.batches.every(
    (batch) => batch.at < since || batch.outside || driverOf(batch) === owner,
  );
  if (isAlone)
    history.violate(
      "I37",
      `run ${run.runId}: the lease of ${process} ended at ${until}, and nothing disturbed it`,
    );
}
