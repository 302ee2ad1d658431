/**
 * Journals in an object store, without any other service: every isolate that can reach the bucket can continue every run.
 * Everything about a run, including its lease and its forks, is one log of objects that are created once.
 */

import { DurableError } from "../../values/errors.ts";
import { digest } from "../../values/hash.ts";
import { conflict, refuseBlobs } from "../../ports/storage-kit.ts";
import type {
  AppendRequest,
  Lease,
  ListPage,
  ListQuery,
  ReadReply,
  RunHead,
  Storage,
} from "../../ports/storage.ts";
import { systemWorld, type World } from "../../ports/world.ts";
import type { Bucket } from "../../ports/bucket.ts";
import { assertConditions } from "./conditions.ts";
import { Family } from "./family.ts";
import { assertLocator, markersOf } from "./layout.ts";
import { Listing } from "./listing.ts";
import { Logs, type Found } from "./logs.ts";
import { patient } from "./patience.ts";
import { rebuild, type Rebuilt } from "./rebuild.ts";
import { grown, hidden, isHeld, leased, released, type KeptBlob, type State } from "./record.ts";
import type { RunLog } from "./run-log.ts";

/** Options of `RemoteStorage`. */
export interface RemoteOptions {
  /** Clock, random source and timers; those of the system by default. */
  readonly world?: World | undefined;
}

/** How many write races a call may lose before it fails. */
const mostTries = 50;

/** Keeps journals in an object store, through a `Bucket`: for several hosts, and for isolates. */
export class RemoteStorage implements Storage {
  readonly #plain: Bucket;
  readonly #bucket: Bucket;
  readonly #world: World;
  readonly #logs: Logs;
  readonly #family: Family;
  readonly #listing: Listing;
  /** Writes of this process to one run are made one after the other, because they would compete for the same slot. */
  readonly #last = new Map<string, Promise<unknown>>();
  #conditions: Promise<void> | null = null;

  constructor(bucket: Bucket, { world = systemWorld }: RemoteOptions = {}) {
    this.#plain = bucket;
    this.#bucket = patient(bucket, world);
    this.#world = world;
    this.#logs = new Logs(this.#bucket, world);
    this.#family = new Family({
      bucket: this.#bucket,
      logs: this.#logs,
      now: () => world.now(),
      change: (locator, change) => this.#change(locator, change),
    });
    this.#listing = new Listing(this.#bucket, this.#logs, () => world.now());
  }

  append(request: AppendRequest): Promise<void> {
    return this.#alone(request.locator, () => this.#append(request));
  }

  async #append(request: AppendRequest): Promise<void> {
    const { locator, position, head } = request;
    await this.#assure();
    const known = this.#logs.known(locator);
    let found: Found = { generation: known?.generation ?? 0, log: known ?? null };
    let fresh = false;
    for (let tries = 0; tries < mostTries; tries++) {
      const refusal = refusalOf(found.log, request);
      // The cached log may be old, so a refusal counts only after a fresh read.
      if (refusal !== null && fresh) throw refusal;
      if (refusal === null) {
        const blobs = await this.#kept(found.log, request, fresh);
        if (blobs !== null && (await this.#grow(found, request, blobs))) return;
      }
      found = await this.#logs.load(locator);
      fresh = true;
      if (found.log?.state.closed === true && position === 0) {
        await this.#family.free(found.log);
        found = { generation: found.generation + 1, log: null };
      }
    }
    throw lostRaces(head.runId);
  }

  /** The blobs that a batch is the first of its run to name; `null` when the log must be read again before a refusal. */
  async #kept(
    log: RunLog | null,
    { head, position, blobs = [] }: AppendRequest,
    fresh: boolean,
  ): Promise<KeptBlob[] | null> {
    const has = (name: string): boolean => log?.blobs.has(name) === true;
    const sent = new Map(blobs.flatMap(({ name, body }) => (body === undefined ? [] : [[name, body]])));
    const asked = blobs.some(({ name }) => !has(name) && !sent.has(name));
    const ancestors = await this.#ancestors(head, { position, fresh, asked });
    const owner = (name: string): string | undefined =>
      ancestors.find((ancestor) => ancestor.blobs.has(name))?.locator;
    const refusal = refuseBlobs(head.runId, blobs, (name) => has(name) || owner(name) !== undefined);
    if (refusal !== null && !fresh) return null;
    if (refusal !== null) throw refusal;
    const kept = new Map<string, KeptBlob>();
    for (const { name } of blobs)
      if (!has(name)) kept.set(name, [name, sent.get(name) ?? { in: owner(name) ?? "" }]);
    return [...kept.values()];
  }

  /** The logs of the ancestors, if they matter: from the cache first, then from the bucket. */
  async #ancestors(
    head: RunHead,
    {
      position,
      fresh,
      asked,
    }: { readonly position: number; readonly fresh: boolean; readonly asked: boolean },
  ): Promise<RunLog[]> {
    if (fresh && (position === 0 || asked)) return this.#family.ancestors(head, position);
    return asked ? head.ancestors.flatMap((locator) => this.#logs.known(locator) ?? []) : [];
  }

  /** Writes the batch after the known ones; false when another writer was first. */
  async #grow(
    { generation, log }: Found,
    request: AppendRequest,
    blobs: readonly KeptBlob[],
  ): Promise<boolean> {
    const { locator, position, batch, head } = request;
    // A concurrent read may have added records. There is no await from this check to the choice of the slot.
    if (refusalOf(log, request) !== null) return false;
    const before = log?.state ?? null;
    const slot = log === null ? 0 : log.slot + 1;
    const reader = digest(12, locator, batch);
    const state = grown(before, request, { slot, now: this.#world.now(), reader });
    if (position === 0) await this.#family.register(head, reader);
    // The index comes before the log, because a run that is missing from the index would never be driven again.
    if (state.since === slot) await this.#mark({ locator, generation, slot }, state);
    const record = { slot, state, batch, ...(blobs.length === 0 ? {} : { blobs }) };
    const how = await this.#logs.write({ locator, generation, log }, record);
    if (how === "gone") throw conflict(head.runId, position, true);
    if (how === "taken" && position === 0) await this.#family.unregister(head.ancestors, reader);
    if (how === "landed") await this.#tidy(locator, generation, before, state);
    return how === "landed";
  }

  async #mark(place: { locator: string; generation: number; slot: number }, { head }: State): Promise<void> {
    await Promise.all(markersOf(place, head).map((key) => this.#bucket.create(key, "")));
  }

  /** Deletes outdated index objects and writes a snapshot. May fail, because both only save work. */
  async #tidy(locator: string, generation: number, before: State | null, after: State): Promise<void> {
    const old =
      before === null || before.since === after.since
        ? []
        : markersOf({ locator, generation, slot: before.since }, before.head);
    const log = this.#logs.known(locator);
    await Promise.allSettled([
      old.length === 0 ? null : this.#plain.delete(old),
      log === undefined ? null : this.#logs.save(log, this.#plain),
    ]);
  }

  async read(locator: string, from = 0): Promise<ReadReply> {
    assertLocator(locator);
    const { log } = await this.#logs.load(locator);
    if (log === null || log.state.closed) return { batches: [], length: 0, deleted: false };
    const { length, deleted } = log.state;
    const reply = { batches: log.batches.slice(from, length), length, deleted };
    const named = [...log.blobs].filter(([, { position }]) => position >= from);
    if (named.length === 0) return reply;
    const bodies = named.map(async ([name]) => [name, await this.#body(log, name)] as const);
    return { ...reply, blobs: Object.fromEntries(await Promise.all(bodies)) };
  }

  /** The content of a blob, from the run that stores it. Ancestors exist as long as this run does. */
  async #body(log: RunLog, name: string): Promise<string> {
    const text = log.blobs.get(name)?.text;
    if (typeof text === "string") return text;
    const known = text === undefined ? undefined : this.#logs.known(text.in);
    // The ancestor may have stored the blob after this process last read its log.
    const stale = text !== undefined && known?.blobs.has(name) !== true;
    const owner = stale ? (await this.#logs.load(text.in)).log : (known ?? null);
    if (owner !== null) return this.#body(owner, name);
    throw new DurableError(
      "corrupt",
      `Blob ${name} of the journal ${log.locator} is missing. Restore the bucket from a backup.`,
    );
  }

  async lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null> {
    let lease: Lease | null = null;
    await this.#change(locator, (state) => {
      const now = this.#world.now();
      lease = null;
      if (state.deleted || (isHeld(state, now) && state.lease?.owner !== owner)) return null;
      const next = leased(state, owner, { now, ttlMs });
      lease = { starts: Math.max(next.starts, 1), length: next.length };
      return next;
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
    let markers: string[] = [];
    const log = await this.#change(locator, (state, generation) => {
      if (state.deleted) return null;
      markers = markersOf({ locator, generation, slot: state.since }, state.head);
      return hidden(state, this.#world.now(), markers);
    });
    if (log?.state.closed === true) await this.#family.free(log);
    else if (markers.length > 0) await this.#bucket.delete(markers);
  }

  async list(query: ListQuery = {}): Promise<ListPage> {
    return this.#listing.list(query);
  }

  /**
   * Builds the index of runs again from the logs, and removes what interrupted deletions left. Reads
   * everything.
   */
  rebuild(): Promise<Rebuilt> {
    return rebuild({ bucket: this.#bucket, logs: this.#logs, family: this.#family });
  }

  /** Writes a new state of a run without a batch, and tries again when another writer was first. */
  #change(
    locator: string,
    change: (state: State, generation: number) => State | null,
  ): Promise<RunLog | null> {
    return this.#alone(locator, async () => {
      let log = this.#logs.known(locator) ?? null;
      let fresh = false;
      for (let tries = 0; tries < mostTries; tries++) {
        const state = log === null || log.state.closed ? null : change(log.state, log.generation);
        if (log !== null && state !== null) {
          const draft = { slot: log.slot + 1, state };
          await this.#assure();
          if ((await this.#logs.write({ locator, generation: log.generation, log }, draft)) === "landed")
            return log;
        } else if (fresh) return log;
        ({ log } = await this.#logs.load(locator));
        fresh = true;
      }
      throw lostRaces(locator);
    });
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

function lostRaces(run: string): DurableError {
  return new DurableError(
    "storage-busy",
    `Lost ${mostTries} write races on the log of run ${run}. Try again later.`,
  );
}

function nothing(): void {}
