/**
 * Logs in their bucket: finding, reading and writing them.
 *
 * logs.1. A slot is created once and never changes. The writer of slot n has read all slots before it, and its record
 *     carries the state that results from them.
 * logs.2. The bucket decides which writer wins a slot. A writer recognizes its own record by its id, whatever the reply was.
 * logs.3. A log is read slot by slot until one is missing. Lists and snapshots may be old, and nothing is decided by them.
 * logs.4. A generation that is over is marked in its first slot, permanently. A writer that has not read that slot for
 *     `believedMs` reads it again before it relies on its own write, because later slots may have been deleted.
 * logs.5. Dropped slots are removed only after every slot at which a log begins before them forwards beyond them (a
 *     chain of `Forward`, from the first slot on). A log that ends before the end of the chain is stale: the slots after
 *     it were removed, and it is read again from there.
 */

import type { World } from "../../ports/world.ts";
import type { Bucket } from "../../ports/bucket.ts";
import { areUsed } from "../../ports/storage-kit.ts";
import { baseKey, slotKey, snapshotKey, type Place } from "./layout.ts";
import { damaged, gone, readFrom, readObject, writeObject, type Forward, type LogRecord } from "./record.ts";
import { RunLog, wantsSnapshot, type Snapshot } from "./run-log.ts";

/** The log of a run; without one, `generation` is the one that a new run would get. */
export interface Found {
  readonly generation: number;
  readonly log: RunLog | null;
}

export type Draft = Pick<LogRecord, "state" | "batch" | "blobs"> & { readonly slot: number };

export interface Target {
  readonly locator: string;
  readonly generation: number;
  readonly log: RunLog | null;
}

type Slot = LogRecord | Forward | typeof gone | null;
/** Whether a log can be relied on: its generation may be over, or the slots after it may have been dropped. */
type Life = "alive" | "stale" | "over";

/** As many requests as a Cloudflare Worker may have open at once. */
const readAhead = 6;
const believedMs = 10_000;
/** Characters that a snapshot has beside its base before there is a new base; more, where the base is large. */
const leastTail = 65_536;
/** Limits of the cache, in logs and in characters. With it, a driver that reads a log again reads only what is new. */
const keptLogs = 256;
const keptSize = 16 * 1024 * 1024;

export class Logs {
  readonly #bucket: Bucket;
  readonly #world: World;
  readonly #kept = new Map<string, RunLog>();
  /** True after the first record was read: records exist only in buckets that passed the check of conditions.ts. */
  proven = false;

  constructor(bucket: Bucket, world: World) {
    this.#bucket = bucket;
    this.#world = world;
  }

  /** The cached log, without a request. */
  known(locator: string): RunLog | undefined {
    return this.#kept.get(locator);
  }

  /** The log as it is now. */
  async load(locator: string): Promise<Found> {
    const log = this.#kept.get(locator);
    if (log !== undefined) {
      const over = await this.#readOn(log);
      // A closed log may have been followed by the next generation.
      if (!over && !log.state.closed && (await this.#believed(log)) === "alive")
        return { generation: log.generation, log: this.#keep(log) };
      this.forget(log);
    }
    return this.#open(locator);
  }

  async #open(locator: string): Promise<Found> {
    let log = await this.#snapshot(locator);
    for (let generation = log?.generation ?? 0; ;) {
      if (log === null) {
        const first = await this.#first(locator, generation);
        if (first === null) return { generation, log };
        if (isRecord(first)) log = new RunLog(locator, generation, first);
      }
      let life: Life = "over";
      if (log !== null) {
        await this.#readOn(log);
        // Read the first slot last: if a later slot is missing because it was deleted, the first was marked before that.
        life = await this.#lifeOf(log);
        // A closed log is returned so that the caller removes it, unless another has begun: a late request may have
        // brought back its snapshot, or the way to its last records.
        if (life === "alive" && log.state.closed && (await this.#first(locator, generation + 1)) !== null)
          life = "over";
        if (life === "alive") return { generation, log: this.#keep(log) };
      }
      log = null;
      if (life === "over") generation += 1;
    }
  }

  /** Reads the records that were added since; true when it found the remains of a generation that is over. */
  async #readOn(log: RunLog): Promise<boolean> {
    const { locator, generation } = log;
    for (let width = 1; ; width = readAhead) {
      const places = Array.from({ length: width }, (_, i) => ({
        locator,
        generation,
        slot: log.slot + 1 + i,
      }));
      for (const record of await Promise.all(places.map((place) => this.#get(place)))) {
        if (!isRecord(record)) return record !== null;
        log.learn(record);
      }
    }
  }

  /** The record at which a log begins; `null` when the generation has none yet. */
  async #first(locator: string, generation: number): Promise<LogRecord | typeof gone | null> {
    for (let slot = 0; ;) {
      const found = await this.#get({ locator, generation, slot });
      // A log never forwards to a slot that was not written: what is missing there was removed with its run.
      if (found === null) return slot === 0 ? null : gone;
      if (isRecord(found) || !("next" in found)) return found;
      slot = found.next;
    }
  }

  async #lifeOf(log: RunLog): Promise<Life> {
    const now = this.#world.now();
    const first = await this.#first(log.locator, log.generation);
    if (first === null || !isRecord(first)) return "over";
    if (first.slot > log.slot) return "stale";
    log.aliveAt = now;
    return "alive";
  }

  async #believed(log: RunLog): Promise<Life> {
    return this.#world.now() - log.aliveAt < believedMs ? "alive" : this.#lifeOf(log);
  }

  /** True when there is a log, or was one. */
  async isBegun(locator: string): Promise<boolean> {
    return (await this.#get({ locator, generation: 0, slot: 0 })) !== null;
  }

  /** True for a slot with which a log began before batches were dropped. */
  async isForward(place: Place): Promise<boolean> {
    const found = await this.#get(place);
    return found !== null && "next" in found;
  }

  /** One record; `null` when its slot is free, or its record was removed. */
  async record(place: Place): Promise<LogRecord | null> {
    const found = await this.#get(place);
    return isRecord(found) ? found : null;
  }

  /** The last record of a generation, searched from a slot that may exist; `null` when that slot does not. */
  async last(place: Place): Promise<LogRecord | null> {
    let found = await this.record(place);
    if (found === null) return null;
    let missing = Number.POSITIVE_INFINITY;
    for (let step = 1; found.slot + 1 < missing;) {
      const next = await this.record({ ...place, slot: found.slot + step });
      if (next === null) missing = found.slot + step;
      else found = next;
      step = missing === Number.POSITIVE_INFINITY ? step * 2 : Math.max(1, (missing - found.slot) >> 1);
    }
    return found;
  }

  /** Writes the record after the known ones. `taken`: another writer was first. `gone`: the generation is over. */
  async write({ locator, generation, log }: Target, draft: Draft): Promise<"landed" | "taken" | "gone"> {
    const place = { locator, generation, slot: draft.slot };
    const record: LogRecord = { id: this.#world.id(), ...draft };
    const created = await this.#bucket.create(slotKey(place), writeObject(record));
    if (!created && (await this.#get(place))?.id !== record.id) return "taken";
    if (log === null) {
      const begun = new RunLog(locator, generation, record);
      begun.aliveAt = this.#world.now();
      this.#keep(begun);
      return "landed";
    }
    const life = await this.#believed(log);
    if (life !== "alive") this.forget(log);
    if (life === "over") return "gone";
    if (life === "stale") {
      // The slot was free because its record had been dropped, so our record is not part of the log.
      await this.#bucket.delete([slotKey(place)]);
      return "taken";
    }
    log.learn(record);
    this.#keep(log);
    return "landed";
  }

  /**
   * Writes a snapshot if one is due, through a bucket without retries: after a failure, readers only read more slots. The
   * base is not written again each time, so the snapshots of a run that parks often grow with what it adds, and not with its
   * history.
   */
  async save(log: RunLog, bucket: Bucket): Promise<void> {
    if (!wantsSnapshot(log)) return;
    const { locator, from, size, baseSize, batches } = log;
    const { length } = batches;
    if (size - baseSize > leastTail + baseSize / 16) {
      await bucket.put(baseKey(locator), log.toSnapshot(0));
      if (log.from === from) {
        log.base = length;
        log.baseSize = size;
      }
    }
    const { slot } = log;
    await bucket.put(snapshotKey(locator), log.toSnapshot());
    log.saved = slot;
  }

  forget(log: RunLog): void {
    if (this.#kept.get(log.locator) === log) this.#kept.delete(log.locator);
  }

  #keep(log: RunLog): RunLog {
    const known = this.#kept.get(log.locator);
    // Two callers that opened the log at the same time have two copies. The longer one stays.
    const kept =
      known !== undefined && known.generation === log.generation && known.slot > log.slot ? known : log;
    this.#kept.delete(log.locator);
    this.#kept.set(log.locator, kept);
    let size = 0;
    for (const { size: more } of this.#kept.values()) size += more;
    for (const [locator, { size: less }] of this.#kept) {
      if ((size <= keptSize && this.#kept.size <= keptLogs) || locator === log.locator) break;
      this.#kept.delete(locator);
      size -= less;
    }
    return kept;
  }

  async #get(place: Place): Promise<Slot> {
    const key = slotKey(place);
    const text = await this.#bucket.get(key);
    if (text === null) return null;
    const record = readObject(text, key) as unknown as LogRecord | Forward | typeof gone;
    // What is not in its own slot, or leads back, would be read without end.
    const isOwn = isRecord(record)
      ? record.slot === place.slot && areUsed(record.state.head)
      : "next" in record
        ? record.next > place.slot
        : "gone" in record;
    if (!isOwn) throw damaged(key);
    this.proven = true;
    return isRecord(record) ? { ...record, state: readFrom(record.slot, record.state) } : record;
  }

  async #snapshot(locator: string): Promise<RunLog | null> {
    const part = async (key: string): Promise<Snapshot> =>
      readObject(await this.#bucket.get(key), key) as unknown as Snapshot;
    try {
      const last = await part(snapshotKey(locator));
      return RunLog.fromSnapshot(locator, last, last.base > 0 ? await part(baseKey(locator)) : last);
    } catch {
      return null;
    }
  }
}

function isRecord(slot: Slot): slot is LogRecord {
  return slot !== null && "state" in slot;
}
