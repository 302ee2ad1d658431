/**
 * Who has the lease of each run, by the storage's clock, and when a live driver last lost one or could not
 * write. Proven by the planted bugs of `npm run sim:mutants`.
 */

/** A driver tries an append that fails a few times before it stops. */
const refusalsInARow = 4;

/** Starts without progress after which a worker drives a run alone. */
const startsBeside = 3;

export interface NotedLease {
  readonly owner: string;
  readonly process: string;
  readonly until: number;
  readonly ttlMs: number;
  /** When its owner got it. */
  readonly since: number;
}

export class LeaseNotes {
  readonly #now: () => number;
  readonly #leases = new Map<string, NotedLease>();
  readonly #lostAt = new Map<string, number>();
  readonly #overtaken = new Set<string>();
  readonly #freedAt = new Map<string, number>();
  readonly #refused = new Map<string, number>();
  readonly #gaveUpAt = new Map<string, number>();
  #suspectAt = Number.NEGATIVE_INFINITY;
  /** Runs whose lease was extended by an append after it had expired. */
  readonly #late = new Set<string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The storage has granted or extended a lease. */
  granted(
    process: string,
    locator: string,
    {
      owner,
      ttlMs,
      extends: extended = false,
      starts = 0,
    }: { owner: string; ttlMs: number; extends?: boolean; starts?: number },
  ): void {
    if (starts > startsBeside) this.#suspectAt = this.#now();
    const before = this.#leases.get(locator);
    const isLive = before !== undefined && before.until > this.#now() && before.owner === owner;
    if (!extended) this.#late.delete(locator);
    else if (!isLive) this.#late.add(locator);
    if (before !== undefined && (before.until <= this.#now() || before.owner !== owner)) this.lost(locator);
    if (before !== undefined && before.until > this.#now() && before.owner !== owner)
      this.#overtaken.add(`${before.process} ${locator}`);
    this.#overtaken.delete(`${process} ${locator}`);
    const since = isLive ? before.since : this.#now();
    this.#leases.set(locator, { owner, process, since, ttlMs, until: this.#now() + ttlMs });
  }

  /** The driver has released its lease, as it meant to; it is given to no driver for `quietMs`. */
  released(locator: string, owner: string, quietMs = 0): void {
    const before = this.#leases.get(locator);
    this.#freedAt.set(locator, this.#now() + quietMs);
    if (before === undefined) return;
    if (before.until <= this.#now() || before.owner !== owner) this.lost(locator);
    this.#leases.delete(locator);
  }

  /** The driver no longer has its lease, and did not release it. */
  lost(locator: string): void {
    this.#lostAt.set(locator, this.#now());
  }

  /** Notes whether an append of this process succeeded, as the process sees it. */
  appended(process: string, locator: string, accepted: boolean): void {
    const name = `${process} ${locator}`;
    const refused = accepted ? 0 : (this.#refused.get(name) ?? 0) + 1;
    this.#refused.set(name, refused);
    if (refused >= refusalsInARow) this.#gaveUpAt.set(name, this.#now());
  }

  /** True when appends of this process failed so often in a row that its driver may have stopped. */
  hasGivenUpSince(process: string, locator: string, at: number): boolean {
    return (this.#gaveUpAt.get(`${process} ${locator}`) ?? Number.NEGATIVE_INFINITY) >= at;
  }

  /** True when the storage has granted this process a lease that has not expired. */
  isHeldBy(process: string, locator: string): boolean {
    const lease = this.#leases.get(locator);
    return lease?.process === process && lease.until > this.#now();
  }

  /** True when a run was leased that a worker drives alone: others that are due wait for it. */
  hadSuspectSince(at: number): boolean {
    return this.#suspectAt >= at;
  }

  /** The lease of a run that has expired, and was not released. */
  lapsed(locator: string): NotedLease | null {
    const lease = this.#leases.get(locator);
    return lease !== undefined && lease.until <= this.#now() ? lease : null;
  }

  /** True when some driver has a lease that has not expired. */
  isHeld(locator: string): boolean {
    return (this.#leases.get(locator)?.until ?? 0) > this.#now();
  }

  /** Since when no driver has a run. */
  freeSince(locator: string): number {
    return Math.max(this.#freedAt.get(locator) ?? 0, this.#leases.get(locator)?.until ?? 0);
  }

  /** When the process that has the lease of a run got it. */
  since(locator: string): number {
    return this.#leases.get(locator)?.since ?? Number.NEGATIVE_INFINITY;
  }

  /** Locators of runs whose lease has not expired, but for late ones. */
  held(): string[] {
    return [...this.#leases].flatMap(([locator, { until }]) =>
      until > this.#now() && !this.#late.has(locator) ? [locator] : [],
    );
  }

  isLate(locator: string): boolean {
    return this.#late.has(locator);
  }

  /** True when the driver before wrote late, and so took the lease back from this process, which does not know it yet. */
  isOvertaken(process: string, locator: string): boolean {
    return this.#overtaken.has(`${process} ${locator}`);
  }

  /** True when a driver lost the lease at this time or later. */
  isLostSince(locator: string, at: number): boolean {
    return (this.#lostAt.get(locator) ?? Number.NEGATIVE_INFINITY) >= at;
  }
}
