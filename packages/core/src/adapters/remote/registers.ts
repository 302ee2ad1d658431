/**
 * Values in a bucket that are changed by compare-and-swap: schedules, and which workflows are paused. Each is a log of records
 * that are created once, and the key of the next record is the compare-and-swap. The latest records are kept, and a sign says
 * where the log ends, or ended a short time ago. So a write that is lost, and done long after, changes nothing.
 *
 *     <kind>s/<id>                   the sign: the number of a late record
 *     <kind>-records/<id>/<number>   one record, created once
 *
 * registers.1. Before a record is created, the one `kept` places before it is deleted. So records disappear in their
 *     order, and a writer whose predecessor is still there has created a key that was never used before.
 * registers.2. A value that is removed ends with a record that says so, and a new one of its name goes on from there. So a
 *     late writer cannot bring it back.
 * registers.3. The sign comes before the first record, because a value without one would never be listed.
 */

import type { Bucket } from "../../ports/bucket.ts";
import { keysOf } from "./listing.ts";
import { damaged, readObject, writeObject } from "./record.ts";

/** More than the writers that may fail, one after the other, between a record and its sign. */
const kept = 8;

interface Kept<T> {
  readonly number: number;
  readonly version: string;
  /** `null` when it was removed. */
  readonly value: T | null;
}

export class Registers<T> {
  readonly #bucket: Bucket;
  readonly #signs: string;
  readonly #records: string;
  readonly #fits: (value: unknown) => boolean;
  /** Checks the bucket before the first write. */
  readonly #assure: () => Promise<void>;
  /** The latest record that was seen of each log. Records never change. */
  readonly #seen = new Map<string, Kept<T>>();

  /** `fits` is false for a value of another kind: its record is damaged. */
  constructor(
    bucket: Bucket,
    { kind, fits }: { readonly kind: string; readonly fits: (value: unknown) => boolean },
    assure: () => Promise<void>,
  ) {
    this.#bucket = bucket;
    this.#fits = fits;
    this.#signs = `${kind}s/`;
    this.#records = `${kind}-records/`;
    this.#assure = assure;
  }

  /** All that were ever written, also those that were removed. */
  async ids(): Promise<string[]> {
    const ids: string[] = [];
    for await (const key of keysOf(this.#bucket, this.#signs)) ids.push(key.slice(this.#signs.length));
    return ids;
  }

  /** Writes a value, or removes it, unless its version is another one than `expected`, or than `null` when there is none. */
  async write(id: string, expected: string | null, next: Omit<Kept<T>, "number">): Promise<boolean> {
    await this.#assure();
    const last = await this.read(id);
    const present = last === null || last.value === null ? null : last.version;
    if (present !== expected) return false;
    const number = (last?.number ?? 0) + 1;
    if (number === 1) await this.#bucket.put(this.#signs + id, "0");
    if (number > kept) await this.#bucket.delete([this.#key(id, number - kept)]);
    const key = this.#key(id, number);
    const created = await this.#bucket.create(key, writeObject(next));
    // False may be the reply to a repeated request whose first reply was lost.
    if (!created && (await this.#record(id, number))?.version !== next.version) return false;
    if (last !== null && (await this.#record(id, last.number))?.version !== last.version) {
      // The log has moved on since, and this key was free only because its record was deleted.
      await this.#bucket.delete([key]);
      return false;
    }
    this.#seen.set(id, { ...next, number });
    await this.#bucket.put(this.#signs + id, String(number)).catch(() => {});
    return true;
  }

  /** The last record of a log; `null` when it has none. */
  async read(id: string): Promise<Kept<T> | null> {
    const last = await this.#follow(id, this.#seen.get(id) ?? null);
    if (last !== null) return last;
    const text = await this.#bucket.get(this.#signs + id);
    if (text === null) return null;
    const sign = Number(text) || 0;
    const found = await this.#follow(id, await this.#record(id, Math.max(1, sign)));
    if (found !== null || sign <= 1) return found;
    // The sign is too old.
    let newest = 0;
    for await (const key of keysOf(this.#bucket, `${this.#records}${id}/`))
      newest = Math.max(newest, Number(key.slice(key.lastIndexOf("/") + 1)));
    return this.#follow(id, await this.#record(id, newest));
  }

  /** The last record, from a known one on; `null` when the known one is gone, because others may have followed. */
  async #follow(id: string, known: Kept<T> | null): Promise<Kept<T> | null> {
    if (known === null) return null;
    let last = known;
    for (let next: Kept<T> | null = known; next !== null; next = await this.#record(id, last.number + 1))
      last = next;
    // Read last: while it is there, no record after it was deleted and created again by a late writer.
    if ((await this.#record(id, known.number))?.version !== known.version) return null;
    this.#seen.set(id, last);
    return last;
  }

  async #record(id: string, number: number): Promise<Kept<T> | null> {
    const key = this.#key(id, number);
    const text = await this.#bucket.get(key);
    if (text === null) return null;
    const { version, value } = readObject(text, key) as unknown as Omit<Kept<T>, "number">;
    if (typeof version !== "string" || (value !== null && !this.#fits(value))) throw damaged(key);
    return { number, version, value };
  }

  #key(id: string, number: number): string {
    return `${this.#records}${id}/${String(number).padStart(10, "0")}`;
  }
}
