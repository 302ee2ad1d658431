/**
 * Logs in their bucket: how one is found, read on and written.
 *
 * logs.1. A slot is created once and never changes; who creates slot n knows all before it, and says so in its state.
 * logs.2. Whether a slot was won is decided by the bucket; one's own record is known by its id, whatever the reply said.
 * logs.3. Reads go from slot to slot until there is none. What lists and snapshots say may be old, and decides nothing.
 * logs.4. A life that is over says so in its first slot, for ever. Whoever has not looked there for long looks again
 *     before it believes in what it wrote: slots of a life that is over may be missing.
 */

import type { World } from "../../ports/world.ts";
import type { Bucket } from "../../ports/bucket.ts";
import { slotKey, snapshotKey, type Place } from "./layout.ts";
import { readObject, writeObject, type gone, type LogRecord } from "./record.ts";
import { RunLog, wantsSnapshot } from "./run-log.ts";

/** Where a run's log is; without one, the life that may begin. */
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

type Slot = LogRecord | typeof gone | null;

/** As many requests as a Worker may have under way. */
const readAhead = 6;
const believedMs = 10_000;
/** Journals that are kept, and their characters, so that a driver that looks again reads only what is new. */
const keptLogs = 256;
const keptSize = 16 * 1024 * 1024;

export class Logs {
  readonly #bucket: Bucket;
  readonly #world: World;
  readonly #kept = new Map<string, RunLog>();
  /** True once something was read that only a bucket which keeps conditions can hold. */
  proven = false;

  constructor(bucket: Bucket, world: World) {
    this.#bucket = bucket;
    this.#world = world;
  }

  /** What is known without asking. */
  known(locator: string): RunLog | undefined {
    return this.#kept.get(locator);
  }

  /** What is there now. */
  async load(locator: string): Promise<Found> {
    const log = this.#kept.get(locator);
    if (log !== undefined) {
      const over = await this.#readOn(log);
      // One that is closed may have another life by now.
      if (!over && !log.state.closed && (await this.#isBelieved(log)))
        return { generation: log.generation, log: this.#keep(log) };
      this.forget(log);
    }
    return this.#open(locator);
  }

  async #open(locator: string): Promise<Found> {
    let log = await this.#snapshot(locator);
    for (let generation = log?.generation ?? 0; ;) {
      if (log === null) {
        const first = await this.#get({ locator, generation, slot: 0 });
        if (first === null) return { generation, log };
        if (!isGone(first)) {
          log = new RunLog(locator, generation);
          log.learn(first);
        }
      }
      if (log !== null) {
        await this.#readOn(log);
        // Asked last: where a slot is missing because it was deleted, the first one said so before.
        if (log.state.closed || (await this.isAlive(log))) return { generation, log: this.#keep(log) };
      }
      log = null;
      generation += 1;
    }
  }

  /** Takes in what came since; true when it found what is left of a life that is over. */
  async #readOn(log: RunLog): Promise<boolean> {
    const { locator, generation } = log;
    for (let width = 1; ; width = readAhead) {
      const places = Array.from({ length: width }, (_, i) => ({
        locator,
        generation,
        slot: log.slot + 1 + i,
      }));
      for (const record of await Promise.all(places.map((place) => this.#get(place)))) {
        if (record === null || isGone(record)) return record !== null;
        log.learn(record);
      }
    }
  }

  /** False when the life of a log is over. */
  async isAlive(log: RunLog): Promise<boolean> {
    const now = this.#world.now();
    const first = await this.#get({ locator: log.locator, generation: log.generation, slot: 0 });
    if (first === null || isGone(first)) return false;
    log.aliveAt = now;
    return true;
  }

  async #isBelieved(log: RunLog): Promise<boolean> {
    return this.#world.now() - log.aliveAt < believedMs || this.isAlive(log);
  }

  /** The last record of a life, found from one that may be there; `null` when it is not. */
  async last(place: Place): Promise<LogRecord | null> {
    let found = await this.#get(place);
    if (found === null || isGone(found)) return null;
    let missing = Number.POSITIVE_INFINITY;
    for (let step = 1; found.slot + 1 < missing;) {
      const next: Slot = await this.#get({ ...place, slot: found.slot + step });
      if (next === null || isGone(next)) missing = found.slot + step;
      else found = next;
      step = missing === Number.POSITIVE_INFINITY ? step * 2 : Math.max(1, (missing - found.slot) >> 1);
    }
    return found;
  }

  /** Writes the record after those that are known. `taken`: others were first. */
  async write({ locator, generation, log }: Target, draft: Draft): Promise<"landed" | "taken" | "gone"> {
    const place = { locator, generation, slot: draft.slot };
    const record: LogRecord = { id: this.#world.id(), ...draft };
    const created = await this.#bucket.create(slotKey(place), writeObject(record));
    if (!created && (await this.#get(place))?.id !== record.id) return "taken";
    if (log === null) {
      const begun = new RunLog(locator, generation);
      begun.aliveAt = this.#world.now();
      begun.learn(record);
      this.#keep(begun);
      return "landed";
    }
    if (!(await this.#isBelieved(log))) {
      this.forget(log);
      return "gone";
    }
    log.learn(record);
    this.#keep(log);
    return "landed";
  }

  /** Writes a snapshot where one is due, by a bucket that is asked once: what fails is made up for by reading. */
  async save(log: RunLog, bucket: Bucket): Promise<void> {
    if (!wantsSnapshot(log)) return;
    const { slot } = log;
    await bucket.put(snapshotKey(log.locator), log.toSnapshot());
    log.saved = slot;
  }

  forget(log: RunLog): void {
    if (this.#kept.get(log.locator) === log) this.#kept.delete(log.locator);
  }

  #keep(log: RunLog): RunLog {
    const known = this.#kept.get(log.locator);
    // Two who opened it at once have two copies: the longer one stays.
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
    const record = readObject(text, key) as unknown as LogRecord | typeof gone;
    this.proven = true;
    return record;
  }

  async #snapshot(locator: string): Promise<RunLog | null> {
    try {
      const text = await this.#bucket.get(snapshotKey(locator));
      return text === null ? null : RunLog.fromSnapshot(locator, text);
    } catch {
      return null;
    }
  }
}

function isGone(slot: Slot): slot is typeof gone {
  return slot !== null && "gone" in slot;
}
