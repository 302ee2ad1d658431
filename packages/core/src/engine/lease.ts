/**
 * The lease of a driver: renewed while it drives, together with a watch on the tail of the journal.
 *
 * lease.1. A lease only saves work. Losing it stops a driver early; keeping it proves nothing.
 * lease.2. No work starts under a lease that has expired by the driver's own clock: it is renewed first, and what another
 *          driver may have recorded meanwhile is read.
 * lease.3. A live driver sees entries from outside: the storage notifies it, or it polls.
 * lease.4. It is renewed when two thirds of it are over, by a timer: a clock that is set back does not lengthen it.
 * lease.5. A name under which a lease was given back is not used again. The request may be done late, or be tried again, and must not
 *          end the lease that was taken after it.
 */

import type { Entry } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { isDeleted, isFinal } from "../journal/errors.ts";
import { sealNote } from "../journal/envelope.ts";
import type { Cipher } from "../ports/cipher.ts";
import { DurableError } from "../values/errors.ts";
import type { AppendRequest, BlockedNote, Lease, SlotLimits, Storage } from "../ports/storage.ts";
import { backOff, pause, type World } from "../ports/world.ts";

export interface LeaseEvents {
  moved(): void;
  lost(): void;
  failed(error: unknown): void;
}

interface Driving {
  readonly journal: RunJournal;
  readonly events: LeaseEvents;
  readonly abort: AbortController;
}

/** Short runs end before this timer fires. */
const firstLookMs = 100;
const slowestPollMs = 5_000;
const renewTries = 12;

export class DriverLease {
  readonly #storage: Storage;
  readonly #world: World;
  readonly #ttlMs: number;
  #journal: RunJournal | null = null;
  #locator = "";
  #owner = "";
  #until = 0;
  /** It was extended since the last check. */
  #isFresh = false;
  /**
   * The append that gives it back was sent, or has landed. Crossed: it was taken while that append was under way, and which of
   * the two came first is unknown.
   */
  #giving: "no" | "sent" | "crossed" | "done" = "no";
  owned = false;
  /** The latest attempt to take it found no free slot. */
  full = false;
  readonly #slots: SlotLimits | undefined;
  #driving: Driving | null = null;
  #watching = false;
  #cancelPulse: () => void = () => {};
  /** The note that the latest lease made void. */
  #voided: BlockedNote | undefined;

  readonly #cipher: Cipher | null;

  constructor(options: {
    storage: Storage;
    world: World;
    ttlMs: number;
    slots?: SlotLimits | undefined;
    cipher?: Cipher | null | undefined;
  }) {
    this.#cipher = options.cipher ?? null;
    this.#slots = options.slots;
    this.#storage = options.storage;
    this.#world = options.world;
    this.#ttlMs = options.ttlMs;
  }

  /** Takes the lease; `null` while another live driver has it, or all slots of the run are taken. */
  async acquire(journal: RunJournal): Promise<Lease | null> {
    if (this.#driving === null) {
      const { unreturned } = journal;
      this.#take(journal);
      // It may still be there, under the name of before.
      if (unreturned !== null) await this.#isBack(unreturned);
    }
    const asked = this.#world.now();
    const found = await this.#storage.lease(this.#locator, this.#owner, this.#ttlMs, this.#slots);
    this.full = found?.full === true;
    const lease = this.full ? null : found;
    this.owned = lease !== null;
    this.#voided = lease?.blocked ?? this.#voided;
    if (lease === null) return null;
    if (this.#driving === null || lease.length === journal.position) this.#until = asked + this.#ttlMs;
    this.#isFresh = true;
    if (this.#giving === "sent") this.#giving = "crossed";
    journal.blocked = null;
    journal.takenOver = lease.tookOver === true;
    return lease;
  }

  /** A stop was appended, and that append released the lease. */
  released(): void {
    if (this.#giving === "crossed") void this.#giveUp();
    this.owned = false;
    this.#until = 0;
    this.#giving = "done";
  }

  /** The lease field of an append: normal appends extend the lease, a stop releases it. */
  extend(stop: boolean): AppendRequest["lease"] {
    this.#giving = stop ? "sent" : "no";
    if (stop) return null;
    // With slots, only `acquire` says that a lease is live: it may expire, and its slot be taken, while an append is on its way.
    if (this.#slots === undefined) {
      this.#until = this.#world.now() + this.#ttlMs;
      this.#isFresh = true;
    }
    return { owner: this.#owner, ttlMs: this.#ttlMs };
  }

  /** Like `acquire`, for the batch that creates the run: there is no lease to take before it. */
  leaseForNewRun(journal: RunJournal): AppendRequest["lease"] {
    this.#take(journal);
    this.owned = true;
    this.#until = this.#world.now() + this.#ttlMs;
    return { owner: this.#owner, ttlMs: this.#ttlMs };
  }

  #take(journal: RunJournal): void {
    this.#journal = journal;
    this.#locator = journal.locator;
    this.#owner = journal.leases === 0 ? journal.driver : `${journal.driver}~${journal.leases}`;
  }

  get valid(): boolean {
    return this.#world.now() < this.#until;
  }

  /** Extends the lease; false when another driver has it, or the storage failed in all attempts. */
  async renew(): Promise<boolean> {
    for (let tries = 1; this.#driving !== null; tries++) {
      const { journal, events } = this.#driving;
      const asked = this.#world.now();
      try {
        const lease = await this.acquire(journal);
        // The drive ends, and gave the lease back before this request took it again.
        if (lease !== null && (this.#driving === null || this.#giving === "done")) await this.release();
        else if (lease === null) events.lost();
        // Another driver may have driven the run while our lease was expired: read its entries before any work begins.
        else if (lease.length !== journal.position) {
          notify(await journal.refresh(), events);
          if (this.owned) this.#until = asked + this.#ttlMs;
        }
        return lease !== null;
      } catch (error) {
        // The run was deleted, and another one may have its id: nothing of that is for this driver.
        if (isDeleted(error)) events.lost();
        else if (tries >= renewTries || isFinal(error)) events.failed(error);
        else {
          await backOff(this.#world, tries);
          continue;
        }
        return false;
      }
    }
    return false;
  }

  /** Gives the lease back before anything was done with it: this start does not count, and the note stays. */
  async giveBack(): Promise<void> {
    if (this.#voided !== undefined) await this.#keep(this.#voided);
    const owner = this.#retire();
    await this.#storage.lease(this.#locator, owner, 0);
    this.#returned(owner);
    this.released();
  }

  /** Notes beside the head of the run why it cannot continue; returns since when that is so. */
  async note({ code, message }: DurableError, length: number): Promise<number> {
    const before = this.#voided;
    const since = before?.code === code && before.length === length ? before.since : this.#world.now();
    await this.#keep(sealNote({ code, message, since, length }, this.#locator, this.#cipher));
    return since;
  }

  async #keep(note: BlockedNote | Promise<BlockedNote>): Promise<void> {
    this.#voided = undefined;
    try {
      await this.#storage.note?.(this.#locator, await note);
    } catch {
      // The note is for people. The next driver writes it again.
    }
  }

  async release(quietMs?: number): Promise<void> {
    if (!this.owned) return;
    this.released();
    await this.#giveUp(quietMs);
  }

  async #giveUp(quietMs?: number): Promise<void> {
    const owner = this.#retire();
    if (!(await this.#isBack(owner, quietMs))) void this.#giveUpLater(owner, quietMs);
  }

  /** In the background, until it is given back. At the latest, it expires by itself. */
  async #giveUpLater(owner: string, quietMs?: number): Promise<void> {
    const until = this.#world.now() + this.#ttlMs;
    // A few tries only: others may be in the same outage.
    for (let ms = this.#ttlMs / 15; this.#world.now() < until; ms = Math.min(2 * ms, this.#ttlMs / 6)) {
      await pause(this.#world, ms * (0.5 + this.#world.random() / 2));
      if (this.#journal?.unreturned !== owner || (await this.#isBack(owner, quietMs))) return;
    }
  }

  /** True when the lease is given back, and when this handle of the storage never can: a process must not stay alive for that. */
  async #isBack(owner: string, quietMs?: number): Promise<boolean> {
    try {
      await this.#storage.release(this.#locator, owner, quietMs);
    } catch (error) {
      if (!DurableError.is(error, "journal-regressed") && !DurableError.is(error, "storage-closed"))
        return false;
    }
    this.#returned(owner);
    return true;
  }

  /** The name of the lease, for the last time (lease.5). */
  #retire(): string {
    if (this.#journal !== null) {
      this.#journal.leases += 1;
      this.#journal.unreturned = this.#owner;
    }
    return this.#owner;
  }

  #returned(owner: string): void {
    if (this.#journal?.unreturned === owner) this.#journal.unreturned = null;
  }

  start(journal: RunJournal, events: LeaseEvents): void {
    // Without the lease there is nothing to keep alive: a resumer only replays, to place its answer.
    if (!this.owned) return;
    this.#giving = "no";
    journal.driven = true;
    this.#driving = { journal, events, abort: new AbortController() };
    this.#pulse(Math.min(firstLookMs, this.#ttlMs / 3), true);
  }

  stop(): void {
    this.#cancelPulse();
    // A reason of its own saves the exception, with its stack, that a signal makes without one.
    this.#driving?.abort.abort("stopped");
    this.#driving = null;
    this.#watching = false;
  }

  #pulse(ms: number, isFirst = false): void {
    this.#cancelPulse = this.#world.timer(ms, () => {
      this.watch();
      // Appends extend the lease as well. A clock may have been set back since, but a timer has not.
      const isOld = !isFirst && !this.#isFresh;
      const isEnding = this.#until - this.#world.now() <= this.#ttlMs / 2;
      if (!isFirst) this.#isFresh = false;
      void (isOld || isEnding ? this.renew() : Promise.resolve(true)).then((held) => {
        if (held && this.#driving !== null) this.#pulse(this.#ttlMs / 3);
      });
    });
  }

  /** Watches the tail of the journal from now on. */
  watch(): void {
    const driving = this.#driving;
    if (driving === null || this.#watching) return;
    this.#watching = true;
    void this.#watch(driving).catch((error: unknown) => {
      if (this.#driving === driving) driving.events.failed(error);
    });
  }

  async #watch(driving: Driving): Promise<void> {
    const { journal, events, abort } = driving;
    for (let poll = firstLookMs; this.#driving === driving; poll = Math.min(poll * 1.5, slowestPollMs)) {
      const { position } = journal;
      const nap = (): Promise<void> => pause(this.#world, poll, abort.signal);
      // Poll if the storage has no notifications, or they fail now.
      await (this.#storage.changed?.(journal.locator, position, abort.signal).catch(nap) ?? nap());
      await journal.settled();
      // Our own append moved the tail. It would have met entries from outside, so there is nothing to read.
      if (journal.position !== position) {
        await pause(this.#world, firstLookMs, abort.signal);
        continue;
      }
      if (this.#driving !== driving) return;
      const entries = await this.#readTail(journal);
      if (entries.length === 0) await nap();
      if (this.#driving !== driving || entries.length === 0) continue;
      notify(entries, events);
    }
  }

  /** Reads new entries now. */
  async pollNow(): Promise<void> {
    const driving = this.#driving;
    if (driving === null) return;
    const entries = await this.#readTail(driving.journal);
    if (entries.length > 0 && this.#driving === driving) notify(entries, driving.events);
  }

  async #readTail(journal: RunJournal): Promise<readonly Entry[]> {
    try {
      return await journal.refresh();
    } catch (error) {
      // A storage error is temporary, and the next poll tries again; a journal that shrank is final.
      if (isFinal(error)) throw error;
      return [];
    }
  }
}

function notify(entries: readonly Entry[], events: LeaseEvents): void {
  if (entries.some((entry) => !entry.outside)) events.lost();
  else events.moved();
}
