/**
 * Journals in an object store, without any other service: every isolate that can reach the bucket can continue every run.
 * Everything about a run, including its lease, its note and its forks, is one log of objects that are created once.
 *
 * remote-storage.1. The index comes before the log, because a run that is missing from the index would never be found.
 * remote-storage.2. A refusal counts only after a fresh read of the log, because the cached one may be old.
 * remote-storage.3. A chapter has all that it needs in its own records, so the cost of reading it does not grow with
 *     the log.
 * remote-storage.4. A call that writes nothing to the log leaves nothing in the index, unless it was interrupted.
 * remote-storage.5. The index never says longer than the lease, or the rest after it, that a run is not due.
 */

import type { DurableError } from "../../values/errors.ts";
import { digest } from "../../values/hash.ts";
import type { ScheduleStore } from "../../ports/schedules.ts";
import { conflict, isUnchanged } from "../../ports/storage-kit.ts";
import type {
  AppendRequest,
  BlockedNote,
  Lease,
  ListPage,
  ListQuery,
  ReadReply,
  RunHead,
  Storage,
  WorkflowPause,
} from "../../ports/storage.ts";
import { systemWorld, type World } from "../../ports/world.ts";
import type { Bucket } from "../../ports/bucket.ts";
import { Blobs } from "./blobs.ts";
import { Chapters } from "./chapters.ts";
import { assertConditions } from "./conditions.ts";
import { Family, type Change } from "./family.ts";
import { assertLocator, type Place } from "./layout.ts";
import { Listing } from "./listing.ts";
import { Logs, type Found } from "./logs.ts";
import { mark, unmade, unmark } from "./markers.ts";
import { patient } from "./patience.ts";
import { RemotePauses } from "./pauses.ts";
import { rebuild, type Rebuilt } from "./rebuild.ts";
import {
  blockedBy,
  firstPosition,
  grown,
  isHeld,
  leased,
  noteOf,
  placed,
  released,
  startsOf,
  unleased,
  writtenTo,
  type KeptBlob,
  type State,
  lostRaces,
  mostTries,
} from "./record.ts";
import { Reading } from "./reading.ts";
import type { RunLog } from "./run-log.ts";
import { RemoteSchedules } from "./schedules.ts";

/** Options of `RemoteStorage`. */
export interface RemoteOptions {
  /** Clock, random source and timers; those of the system by default. */
  readonly world?: World | undefined;
}

/** Keeps journals in an object store, through a `Bucket`: for several hosts, and for isolates. */
export class RemoteStorage implements Storage {
  /** By tags, versions and texts it reads every run that fits the rest of a query: see listing.ts. */
  readonly finds = true;
  readonly costs = true;
  readonly #pauses: RemotePauses;
  readonly schedules: ScheduleStore;
  readonly #plain: Bucket;
  readonly #bucket: Bucket;
  readonly #world: World;
  readonly #logs: Logs;
  readonly #family: Family;
  readonly #chapters: Chapters;
  readonly #blobs: Blobs;
  readonly #listing: Listing;
  readonly #reading: Reading;
  /** Writes of this process to one run are made one after the other, because they would compete for the same slot. */
  readonly #last = new Map<string, Promise<unknown>>();
  #conditions: Promise<void> | null = null;

  constructor(bucket: Bucket, { world = systemWorld }: RemoteOptions = {}) {
    this.#plain = bucket;
    this.#bucket = patient(bucket, world);
    this.#world = world;
    this.#logs = new Logs(this.#bucket, world);
    const parts = {
      bucket: this.#bucket,
      logs: this.#logs,
      now: () => world.now(),
      change: (...asked: Parameters<Change>) => this.#change(...asked),
    };
    this.#family = new Family(parts);
    this.#chapters = new Chapters({ ...parts, family: this.#family });
    this.#blobs = new Blobs(this.#logs, this.#family, this.#chapters);
    this.#reading = new Reading(this.#logs, this.#chapters, this.#blobs, () => world.now());
    this.#listing = new Listing(this.#bucket, this.#logs, world, (locator) => this.#family.goOn(locator));
    this.schedules = new RemoteSchedules(this.#bucket, world, () => this.#assure());
    this.#pauses = new RemotePauses(this.#bucket, world, () => this.#assure());
  }

  append(request: AppendRequest): Promise<void> {
    return this.#alone(request.locator, () => this.#append(request));
  }

  async #append(request: AppendRequest): Promise<void> {
    const { locator, position, head } = request;
    const known = this.#logs.known(locator);
    let found: Found = { generation: known?.generation ?? 0, log: known ?? null };
    let fresh = false;
    const made: string[] = [];
    for (let tries = 0; tries < mostTries; tries++) {
      const refusal = refusalOf(found.log, request);
      // The cached log may be old, so a refusal counts only after a fresh read.
      if (refusal !== null && fresh) throw refusal;
      // A read costs a tenth of the writes that a start would make in vain when it is repeated.
      const isLate =
        refusal !== null || (found.log === null && !fresh && (await this.#logs.isBegun(locator)));
      if (!isLate) {
        const blobs = await this.#blobs.kept(found.log, request, fresh);
        if (blobs !== null && (await this.#grow(found, request, { blobs, made }))) return;
      }
      found = await this.#logs.load(locator);
      fresh = true;
      await unmade(this.#plain, made.splice(0), found.log);
      if (found.log?.state.closed === true && position === 0) {
        await this.#family.free(found.log);
        found = { generation: found.generation + 1, log: null };
      }
    }
    throw lostRaces(head.runId);
  }

  /** Writes the batch after the known ones; false when another writer was first. `made` gets the new index objects. */
  async #grow(
    { generation, log }: Found,
    request: AppendRequest,
    { blobs, made }: { readonly blobs: readonly KeptBlob[]; readonly made: string[] },
  ): Promise<boolean> {
    await this.#assure();
    const { locator, position, batch, head } = request;
    // A concurrent read may have added records. There is no await from this check to the choice of the slot.
    if (refusalOf(log, request) !== null) return false;
    const before = log?.state ?? null;
    const slot = log === null ? 0 : log.slot + 1;
    const reader = digest(12, locator, batch);
    const state = grown(before, request, { slot, now: this.#world.now(), reader });
    if (position === 0) await this.#family.register(head, reader);
    made.push(...(await mark(this.#bucket, { locator, generation, slot }, state)));
    const record = { slot, state, batch, ...(blobs.length === 0 ? {} : { blobs }) };
    const how = await this.#logs.write({ locator, generation, log }, record);
    if (how === "gone") {
      await unmade(this.#plain, made, null);
      throw conflict(head.runId, position, true);
    }
    if (how === "taken" && position === 0) await this.#family.unregister(head.ancestors, reader);
    if (how === "landed") await this.#tidy(locator, generation, before, state);
    return how === "landed";
  }

  /** Deletes outdated index objects and writes a snapshot. May fail, because both only save work. */
  async #tidy(locator: string, generation: number, before: State | null, after: State): Promise<void> {
    const log = this.#logs.known(locator);
    await Promise.allSettled([
      unmark(this.#plain, { locator, generation }, [before, after]),
      log === undefined ? null : this.#logs.save(log, this.#plain),
    ]);
  }

  read(locator: string, from = 0): Promise<ReadReply> {
    return this.#reading.read(locator, from);
  }

  readChapter(locator: string): Promise<ReadReply & { readonly from: number }> {
    return this.#reading.readChapter(locator);
  }

  async dropChapters(locator: string, before: number): Promise<void> {
    assertLocator(locator);
    for (let tries = 0; tries < mostTries; tries++) {
      const { log } = await this.#logs.load(locator);
      if (log === null || log.state.deleted || before <= firstPosition(log.state)) return;
      const dropped = await this.#chapters.drop(log, before);
      if (dropped === null) continue;
      await this.#logs.save(dropped, this.#plain).catch(() => {});
      return this.#chapters.clear(dropped);
    }
    throw lostRaces(locator);
  }

  async note(locator: string, note: BlockedNote): Promise<void> {
    await this.#change(locator, (state, { slot }) =>
      state.deleted || state.length !== note.length
        ? null
        : blockedBy(state, note, { slot, now: this.#world.now() }),
    );
  }

  pause(workflow: string, pause: WorkflowPause | null): Promise<void> {
    return this.#pauses.set(workflow, pause);
  }

  paused(): Promise<readonly WorkflowPause[]> {
    return this.#pauses.list();
  }

  async lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null> {
    let lease: Lease | null = null;
    await this.#change(locator, (state) => {
      const now = this.#world.now();
      const own = state.lease?.owner === owner;
      lease = null;
      if (state.deleted || (isHeld(state, now) && !own) || (ttlMs <= 0 && !own)) return null;
      const note = ttlMs <= 0 ? null : noteOf(state);
      const starts = Math.max(own ? startsOf(state) : startsOf(state) + 1, 1);
      lease = { starts, length: state.length, ...(note !== null && { blocked: note }) };
      return ttlMs <= 0 ? unleased(state, now) : leased(state, owner, { now, ttlMs });
    });
    return lease;
  }

  async release(locator: string, owner: string, quietMs = 0): Promise<void> {
    const log = await this.#change(locator, (state) =>
      state.lease?.owner === owner ? released(state, this.#world.now(), quietMs) : null,
    );
    if (log !== null && log.state.lease === null) await this.#logs.save(log, this.#plain).catch(() => {});
  }

  async delete(locator: string): Promise<void> {
    await this.#family.hide(locator, () => true);
  }

  async deleteUnchanged(heads: readonly RunHead[]): Promise<readonly string[]> {
    const deleted: string[] = [];
    for (const head of heads)
      if (await this.#family.hide(head.locator, (now) => isUnchanged(now, head))) deleted.push(head.locator);
    return deleted;
  }

  async list(query: ListQuery = {}): Promise<ListPage> {
    return this.#listing.list(query);
  }

  /**
   * Builds the index of runs again from the logs, and removes what interrupted deletions left. Reads
   * everything.
   */
  rebuild(): Promise<Rebuilt> {
    return rebuild({
      bucket: this.#bucket,
      logs: this.#logs,
      family: this.#family,
      chapters: this.#chapters,
    });
  }

  /** Writes a new state of a run without a batch, and tries again when another writer was first. */
  #change(locator: string, change: (state: State, place: Place) => State | null): Promise<RunLog | null> {
    return this.#alone(locator, async () => {
      let log = this.#logs.known(locator) ?? null;
      let fresh = false;
      const made: string[] = [];
      for (let tries = 0; tries < mostTries; tries++) {
        if (log !== null && !log.state.closed) {
          const { generation, state: before } = log;
          const place = { locator, generation, slot: log.slot + 1 };
          const changed = change(before, place);
          const state = changed && placed(before, changed, { slot: place.slot, now: this.#world.now() });
          if (state !== null && (await this.#write(place, log, { state, made }))) {
            if (!state.deleted) await unmark(this.#plain, place, [before, state]);
            return log;
          }
          if (state === null && fresh) return log;
        } else if (fresh) return log;
        ({ log } = await this.#logs.load(locator));
        fresh = true;
        await unmade(this.#plain, made.splice(0), log);
      }
      throw lostRaces(locator);
    });
  }

  async #write(
    { locator, generation, slot }: Place,
    log: RunLog,
    { state, made }: { readonly state: State; readonly made: string[] },
  ): Promise<boolean> {
    await this.#assure();
    made.push(...(await mark(this.#bucket, { locator, generation, slot }, state)));
    const record = { slot, state: writtenTo(slot, state) };
    return (await this.#logs.write({ locator, generation, log }, record)) === "landed";
  }

  async #alone<T>(locator: string, work: () => Promise<T>): Promise<T> {
    assertLocator(locator);
    const before = this.#last.get(locator);
    const result = before === undefined ? work() : before.then(work);
    const last = result.then(nothing, nothing);
    this.#last.set(locator, last);
    void last.then(() => {
      if (this.#last.get(locator) === last) this.#last.delete(locator);
    });
    return result;
  }

  /** Checks the bucket before the first write. Not needed after a read, because every writer has made this check. */
  #assure(): Promise<void> {
    if (this.#logs.proven) return Promise.resolve();
    this.#conditions ??= assertConditions(this.#bucket).catch((error: unknown) => {
      this.#conditions = null;
      throw error;
    });
    return this.#conditions;
  }
}

/** Why this batch cannot be appended to the log as it is; null when it can. */
function refusalOf(log: RunLog | null, { position, head }: AppendRequest): DurableError | null {
  if (log === null || log.state.closed)
    return position === 0 && log === null ? null : conflict(head.runId, position);
  const { length, deleted } = log.state;
  const dead = deleted || (position > 0 && log.state.head.createdAt !== head.createdAt);
  return dead || length !== position ? conflict(head.runId, position, dead) : null;
}

function nothing(): void {}
