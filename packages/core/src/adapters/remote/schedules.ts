/** Schedules in a bucket, each in a register under the hash of its name. */

import type { Bucket } from "../../ports/bucket.ts";
import type { World } from "../../ports/world.ts";
import type { ScheduleStore, StoredSchedule, StoredScheduleQuery } from "../../ports/schedules.ts";
import { scheduleListing } from "../../ports/storage-kit.ts";
import { digest } from "../../values/hash.ts";
import { hasFields } from "../../values/shown.ts";
import { Registers } from "./registers.ts";

/** As many requests as a Cloudflare Worker may have open at once. */
const atOnce = 6;

function isSchedule(value: unknown): boolean {
  return hasFields(value, { name: "string", workflow: "string", version: "string", text: "string" });
}

export class RemoteSchedules implements ScheduleStore {
  readonly #registers: Registers<StoredSchedule>;
  readonly #random: () => number;

  constructor(bucket: Bucket, { random }: Pick<World, "random">, assure: () => Promise<void>) {
    this.#registers = new Registers(bucket, { kind: "schedule", fits: isSchedule }, assure);
    this.#random = () => random();
  }

  async get(name: string): Promise<StoredSchedule | null> {
    return (await this.#registers.read(hashOf(name)))?.value ?? null;
  }

  async list(query: StoredScheduleQuery = {}): Promise<readonly StoredSchedule[]> {
    const { signal } = query;
    const found: StoredSchedule[] = [];
    const ids = await this.#registers.ids();
    // A list that stops early must not always have the same ones.
    const first = signal === undefined ? 0 : Math.floor(this.#random() * ids.length);
    const hashes = [...ids.slice(first), ...ids.slice(0, first)].values();
    const one = async (): Promise<void> => {
      for (const hash of hashes) {
        const { value } = (await this.#registers.read(hash)) ?? {};
        if (value) found.push(value);
        if (signal?.aborted === true) return;
      }
    };
    // With a signal one after the other, so that little is under way when it aborts.
    await Promise.all(Array.from({ length: signal === undefined ? atOnce : 1 }, one));
    return scheduleListing(found, query);
  }

  put(schedule: StoredSchedule, version: string | null): Promise<boolean> {
    const { name, version: next } = schedule;
    return this.#registers.write(hashOf(name), version, { version: next, value: schedule });
  }

  delete(name: string, version: string): Promise<boolean> {
    return this.#registers.write(hashOf(name), version, { version: `${version} deleted`, value: null });
  }
}

function hashOf(name: string): string {
  return digest(18, "schedule", name);
}
