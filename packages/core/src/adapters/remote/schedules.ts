/**
 * Schedules in a bucket. Each is a log of records that are created once, and the key of the next record is the
 * compare-and-swap. The latest records are kept, and a sign says where the log ends, or ended a short time ago.
 *
 *     schedules/<name's hash>                    the sign: the number of a late record
 *     schedule-records/<name's hash>/<number>    one record, created once
 *
 * remote-schedules.1. Before a record is created, the one `kept` places before it is deleted. So records disappear in their
 *     order, and a writer whose predecessor is still there has created a key that was never used before.
 * remote-schedules.2. A deleted schedule ends with a record that says so, and a new one of its name goes on from there. So a
 *     late writer cannot bring a deleted schedule back.
 * remote-schedules.3. The sign comes before the first record, because a schedule without one would never be listed.
 */

import type { Bucket } from "../../ports/bucket.ts";
import type { World } from "../../ports/world.ts";
import type { ScheduleStore, StoredSchedule, StoredScheduleQuery } from "../../ports/schedules.ts";
import { scheduleListing } from "../../ports/storage-kit.ts";
import { digest } from "../../values/hash.ts";
import { keysOf } from "./listing.ts";
import { readObject, writeObject } from "./record.ts";

const signPrefix = "schedules/";
/** More than the writers that may fail, one after the other, between a record and its sign. */
const kept = 8;
/** As many requests as a Cloudflare Worker may have open at once. */
const atOnce = 6;

interface Kept {
  readonly number: number;
  readonly version: string;
  /** `null` in the last record of a deleted schedule. */
  readonly schedule: StoredSchedule | null;
}

export class RemoteSchedules implements ScheduleStore {
  readonly #bucket: Bucket;
  /** Checks the bucket before the first write. */
  readonly #assure: () => Promise<void>;
  readonly #random: () => number;
  /** The latest record that was seen of each log. Records never change. */
  readonly #seen = new Map<string, Kept>();

  constructor(bucket: Bucket, { random }: Pick<World, "random">, assure: () => Promise<void>) {
    this.#bucket = bucket;
    this.#assure = assure;
    this.#random = () => random();
  }

  async get(name: string): Promise<StoredSchedule | null> {
    return (await this.#load(hashOf(name)))?.schedule ?? null;
  }

  async list(query: StoredScheduleQuery = {}): Promise<readonly StoredSchedule[]> {
    const { signal } = query;
    const found: StoredSchedule[] = [];
    const signs: string[] = [];
    for await (const key of keysOf(this.#bucket, signPrefix)) signs.push(key.slice(signPrefix.length));
    // A list that stops early must not always have the same ones.
    const first = signal === undefined ? 0 : Math.floor(this.#random() * signs.length);
    const hashes = [...signs.slice(first), ...signs.slice(0, first)].values();
    const one = async (): Promise<void> => {
      for (const hash of hashes) {
        const { schedule } = (await this.#load(hash)) ?? {};
        if (schedule) found.push(schedule);
        if (signal?.aborted === true) return;
      }
    };
    // With a signal one after the other, so that little is under way when it aborts.
    await Promise.all(Array.from({ length: signal === undefined ? atOnce : 1 }, one));
    return scheduleListing(found, query);
  }

  put(schedule: StoredSchedule, version: string | null): Promise<boolean> {
    return this.#write(schedule.name, version, { version: schedule.version, schedule });
  }

  delete(name: string, version: string): Promise<boolean> {
    return this.#write(name, version, { version: `${version} deleted`, schedule: null });
  }

  async #write(name: string, expected: string | null, next: Omit<Kept, "number">): Promise<boolean> {
    await this.#assure();
    const hash = hashOf(name);
    const last = await this.#load(hash);
    if ((last?.schedule?.version ?? null) !== expected) return false;
    const number = (last?.number ?? 0) + 1;
    if (number === 1) await this.#bucket.put(signPrefix + hash, "0");
    if (number > kept) await this.#bucket.delete([recordKey(hash, number - kept)]);
    const key = recordKey(hash, number);
    const created = await this.#bucket.create(key, writeObject(next));
    // False may be the reply to a repeated request whose first reply was lost.
    if (!created && (await this.#record(hash, number))?.version !== next.version) return false;
    if (last !== null && (await this.#record(hash, last.number))?.version !== last.version) {
      // The log has moved on since, and this key was free only because its record was deleted.
      await this.#bucket.delete([key]);
      return false;
    }
    this.#seen.set(hash, { ...next, number });
    await this.#bucket.put(signPrefix + hash, String(number)).catch(() => {});
    return true;
  }

  /** The last record of a log; `null` when it has none. */
  async #load(hash: string): Promise<Kept | null> {
    const last = await this.#follow(hash, this.#seen.get(hash) ?? null);
    if (last !== null) return last;
    const sign = Number((await this.#bucket.get(signPrefix + hash)) ?? 0) || 0;
    const found = await this.#follow(hash, await this.#record(hash, Math.max(1, sign)));
    if (found !== null || sign <= 1) return found;
    // The sign is too old.
    let newest = 0;
    for await (const key of keysOf(this.#bucket, recordPrefix(hash)))
      newest = Math.max(newest, Number(key.slice(recordPrefix(hash).length)));
    return this.#follow(hash, await this.#record(hash, newest));
  }

  /** The last record, from a known one on; `null` when the known one is gone, because others may have followed. */
  async #follow(hash: string, known: Kept | null): Promise<Kept | null> {
    if (known === null) return null;
    let last = known;
    for (let next: Kept | null = known; next !== null; next = await this.#record(hash, last.number + 1))
      last = next;
    // Read last: while it is there, no record after it was deleted and created again by a late writer.
    if ((await this.#record(hash, known.number))?.version !== known.version) return null;
    this.#seen.set(hash, last);
    return last;
  }

  async #record(hash: string, number: number): Promise<Kept | null> {
    const key = recordKey(hash, number);
    const text = await this.#bucket.get(key);
    if (text === null) return null;
    const { version, schedule } = readObject(text, key) as unknown as Omit<Kept, "number">;
    return { number, version, schedule };
  }
}

function hashOf(name: string): string {
  return digest(18, "schedule", name);
}

function recordPrefix(hash: string): string {
  return `schedule-records/${hash}/`;
}

function recordKey(hash: string, number: number): string {
  return recordPrefix(hash) + String(number).padStart(10, "0");
}
