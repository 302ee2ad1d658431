/**
 * Workers that wait in `whenDue`. One timer for each set of workflows waits for the time at which a run is due next; a
 * notification or a write of this process asks again.
 *
 * due.1. A waiting worker is released exactly once: a run is due, the call was aborted, the storage was closed, or the
 *     database cannot be read. Nothing of it is left: no timer, no listener.
 * due.2. At most one query of a set is under way. Signs that come while it is under way lead to one more.
 * due.3. The database is asked now and then without any sign, because a notification may be lost, and because the death of
 *     a driver writes nothing. A driver of this host is checked more often, without a query.
 * due.4. A run that is due at once is for one of many idle processes. Each waits for a random time before it claims, unless
 *     another one says meanwhile that it has taken the run. The time becomes longer when two of them tried the same run, and
 *     shorter when a claim finds something: much shorter when nobody else came during a good part of it, so that a process
 *     that is alone soon does not wait.
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
  /** When the timer fires, by the monotonic clock. */
  timerAt: number;
  asking: boolean;
  again: boolean;
  /** Runs that are due and that no process has taken yet, as far as is known here, and the timer to claim them. */
  readonly untaken: Set<string>;
  claimTimer: ReturnType<typeof setTimeout> | null;
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

const [firstSpreadMs, longestSpreadMs] = [8, 1_000];

/** Another process has taken a run: this one asks soon when that ends. */
const afterTakenMs = 5_000;

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
  /** The longest time before a claim. */
  #spreadMs = 0;
  /** Runs for which workers were released last, and which part of the longest time had passed. */
  #tried: ReadonlySet<string> = new Set();
  #waitedPart = 0;

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

  /** Signs may have been missed. */
  recheck(): void {
    for (const slot of this.#slots.values()) void this.#ask(slot);
  }

  /** A run of this workflow is due in `ms` milliseconds: another process says so, or this one (`isOwn`). */
  announced(workflow: string, locator: string, ms: number, isOwn: boolean): void {
    for (const slot of this.#slots.values()) {
      if (!slot.workflow.includes(workflow)) continue;
      // Nothing says of which version the run is.
      if (slot.version !== undefined) void this.#ask(slot);
      else if (ms > 0) this.#armBefore(slot, ms);
      else {
        slot.untaken.add(locator);
        const part = isOwn ? 0 : Math.random();
        const delay = part * this.#spreadMs;
        if (delay < 1) this.#claim(slot, part);
        else slot.claimTimer ??= setTimeout(() => this.#claim(slot, part), delay);
      }
    }
  }

  /** Another process has claimed these runs. */
  taken(locators: readonly string[]): void {
    if (locators.some((locator) => this.#tried.has(locator)))
      this.#spreadMs = Math.min(Math.max(firstSpreadMs, 2 * this.#spreadMs), longestSpreadMs);
    for (const slot of this.#slots.values()) {
      const wanted = slot.untaken.size;
      for (const locator of locators) slot.untaken.delete(locator);
      if (slot.untaken.size < wanted) this.#armBefore(slot, afterTakenMs);
      if (slot.untaken.size > 0 || slot.claimTimer === null) continue;
      clearTimeout(slot.claimTimer);
      slot.claimTimer = null;
    }
  }

  /** A claim of this process has ended. */
  claimed(found: boolean): void {
    if (!found || this.#tried.size === 0) return;
    this.#tried = new Set();
    this.#spreadMs = this.#spreadMs < 2 ? 0 : this.#spreadMs * (this.#waitedPart > 0.25 ? 0.2 : 0.6);
  }

  #claim(slot: Slot, part: number): void {
    this.#tried = slot.untaken;
    this.#waitedPart = part;
    this.#release(slot);
  }

  close(): void {
    for (const slot of this.#slots.values()) this.#release(slot);
  }

  #slotOf(of: DueRuns): Slot {
    const slot = this.#slots.get(keyOf(of)) ?? {
      ...of,
      waiting: new Set(),
      timer: null,
      timerAt: 0,
      asking: false,
      again: false,
      untaken: new Set(),
      claimTimer: null,
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
    for (const timer of [slot.timer, slot.claimTimer]) if (timer !== null) clearTimeout(timer);
    slot.timer = slot.claimTimer = null;
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
    const ms = Math.max(Math.min(dueMs ?? Infinity, this.#source.pollMs()), shortestMs);
    slot.timerAt = performance.now() + ms;
    slot.timer = setTimeout(() => void this.#ask(slot), ms);
  }

  #armBefore(slot: Slot, ms: number): void {
    // A query that is under way may have begun before it was known.
    if (slot.asking) slot.again = true;
    else if (slot.timerAt > performance.now() + ms) this.#arm(slot, ms);
  }
}
