/**
 * Workers that wait in `whenDue`. One timer for each set of workflows waits for the time at which a run is due next; a
 * notification or a write of this process asks again.
 *
 * due.1. A waiting worker is released exactly once: a run is due, the call was aborted, the storage was closed, or the
 *     database cannot be read. Nothing of it is left: no timer, no listener.
 * due.2. At most one query of a set is under way. Signs that come while it is under way lead to one more.
 * due.3. The database is asked now and then without any sign, because a notification may be lost, and because the death of
 *     a driver writes nothing. A driver of this host is checked more often, without a query.
 */

/** Which runs a worker waits for. */
export interface DueRuns {
  readonly workflow: readonly string[];
  /** Of any version when it is missing. */
  readonly version?: readonly string[] | undefined;
}

interface Slot extends DueRuns {
  readonly waiting: Set<() => void>;
  timer: ReturnType<typeof setTimeout> | null;
  asking: boolean;
  again: boolean;
}

export interface DueSource {
  /** In how many milliseconds one of these runs is due: 0 when one is; `null` when none has a time. */
  dueIn(of: DueRuns): Promise<number | null>;
  /** For how long no sign is needed to ask again. */
  pollMs(): number;
  /** True when a driver on this host has died: a sign that costs no query. */
  haveDied(): boolean;
}

const lookMs = 250;

/** Two clocks that differ by less than this must not make a timer spin. */
const shortestMs = 5;

function keyOf({ workflow, version }: DueRuns): string {
  return JSON.stringify([workflow, version]);
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted();
}

export class DueWaits {
  readonly #slots = new Map<string, Slot>();
  readonly #source: DueSource;
  #looks: ReturnType<typeof setInterval> | null = null;

  constructor(source: DueSource) {
    this.#source = source;
  }

  whenDue({ workflow, version }: DueRuns, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const slot = this.#slotOf({ workflow: sorted(workflow), version: version && sorted(version) });
      const done = (): void => {
        slot.waiting.delete(done);
        if (slot.waiting.size === 0) this.#drop(slot);
        signal.removeEventListener("abort", done);
        resolve();
      };
      slot.waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
      // Asked after the worker is registered, so that no write is missed between the two.
      void this.#ask(slot);
    });
  }

  /** A run of this workflow may be due earlier than was known; of any workflow, if none is given. */
  recheck(workflow?: string): void {
    for (const slot of this.#slots.values())
      if (workflow === undefined || slot.workflow.includes(workflow)) void this.#ask(slot);
  }

  close(): void {
    for (const slot of this.#slots.values()) this.#release(slot);
  }

  #slotOf(of: DueRuns): Slot {
    const slot = this.#slots.get(keyOf(of)) ?? {
      ...of,
      waiting: new Set(),
      timer: null,
      asking: false,
      again: false,
    };
    this.#slots.set(keyOf(of), slot);
    this.#looks ??= setInterval(() => {
      if (this.#source.haveDied()) this.recheck();
    }, lookMs);
    return slot;
  }

  #release({ waiting }: Slot): void {
    for (const done of waiting) done();
  }

  #drop(slot: Slot): void {
    if (slot.timer !== null) clearTimeout(slot.timer);
    slot.timer = null;
    this.#slots.delete(keyOf(slot));
    if (this.#slots.size > 0 || this.#looks === null) return;
    clearInterval(this.#looks);
    this.#looks = null;
  }

  async #ask(slot: Slot): Promise<void> {
    slot.again = true;
    if (slot.asking) return;
    slot.asking = true;
    while (slot.again && slot.waiting.size > 0) {
      slot.again = false;
      try {
        const ms = await this.#source.dueIn(slot);
        if (ms !== null && ms <= 0) this.#release(slot);
        else if (slot.waiting.size > 0) this.#arm(slot, ms);
      } catch {
        // Release the workers: their next claim or list reports the error.
        this.#release(slot);
      }
    }
    slot.asking = false;
  }

  #arm(slot: Slot, dueMs: number | null): void {
    if (slot.timer !== null) clearTimeout(slot.timer);
    const ms = Math.min(dueMs ?? Infinity, this.#source.pollMs());
    slot.timer = setTimeout(() => void this.#ask(slot), Math.max(ms, shortestMs));
  }
}
