/**
 * Journals in an object store and nothing else: any isolate that reaches the bucket can go on with any run.
 * All that is known of a run, its lease and its forks included, is one log of objects that are created once.
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
  readonly world?: World;
}

/** How often a write goes after those that were first, before it is given up for now. */
const mostTries = 50;

/** Keeps journals in an object store, through a `Bucket`: for several hosts, and for isolates. */
export class RemoteStorage implements Storage {
  readonly #plain: Bucket;
  readonly #bucket: Bucket;
  readonly #world: World;
  readonly #logs: Logs;
  readonly #family: Family;
  readonly #listing: Listing;
  /** Writes to one run go one after the other: they would only get in each other's way. */
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
      // What is known may be old: nobody is refused for that.
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
    throw crowded(head.runId);
  }

  /** What a batch is the first of its run to name, with the texts; `null` to look again before it is refused. */
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

  /** The logs that a run reads, where they matter: what is known of them, until that is not enough. */
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

  /** Writes the batch after those that are known; false when others were first. */
  async #grow(
    { generation, log }: Found,
    request: AppendRequest,
    blobs: readonly KeptBlob[],
  ): Promise<boolean> {
    const { locator, position, batch, head } = request;
    // Somebody may have read on in the meantime: from here to the slot's number nothing waits.
    if (refusalOf(log, request) !== null) return false;
    const before = log?.state ?? null;
    const slot = log === null ? 0 : log.slot + 1;
    const reader = digest(12, locator, batch);
    const state = grown(before, request, { slot, now: this.#world.now(), reader });
    if (position === 0) await this.#family.register(head, reader);
    // First the index, then the log: a run that nobody finds would never be driven again.
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

  /** What may fail, since it only saves work: an index object that is out of date goes, and a snapshot is made. */
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

  /** Of a blob, from the run that keeps it: as long as this run is there, those that it reads are. */
  async #body(log: RunLog, name: string): Promise<string> {
    const text = log.blobs.get(name)?.text;
    if (typeof text === "string") return text;
    const known = text === undefined ? undefined : this.#logs.known(text.in);
    // It may have named it after it was last read here.
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

  /** Changes the state of a run without a batch, as often as others are first. */
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
      throw crowded(locator);
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

  /** Before the first write: whatever was read from this bucket was written by somebody who had asked. */
  #assure(): Promise<void> {
    if (this.#logs.proven) return Promise.resolve();
    this.#conditions ??= assertConditions(this.#bucket).catch((error: unknown) => {
      this.#conditions = null;
      throw error;
    });
    return this.#conditions;
  }
}

/** Why a journal as it stands cannot take this batch; null when it can. */
function refusalOf(log: RunLog | null, { position, head }: AppendRequest): DurableError | null {
  if (log === null || log.state.closed)
    return position === 0 && log === null ? null : conflict(head.runId, position);
  const { length, deleted } = log.state;
  const dead = deleted || (position > 0 && log.state.head.createdAt !== head.createdAt);
  return dead || length !== position ? conflict(head.runId, position, dead) : null;
}

function crowded(run: string): DurableError {
  return new DurableError(
    "storage-busy",
    `Others were first in the log of ${run}, ${mostTries} times. Try again.`,
  );
}

function nothing(): void {}
