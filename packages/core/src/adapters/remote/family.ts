/**
 * What forks and the runs they read owe each other, and how a run goes.
 *
 * family.1. A fork stands in the logs of all it reads before it begins; a log that is closed takes no reader.
 * family.2. A run that was deleted is closed by the record that leaves it without readers: exactly one way or the other.
 * family.3. Of a closed run nothing is deleted before its first slot says that it has gone. Whoever is interrupted is
 *     followed by whoever meets the closed run next.
 */

import { conflict } from "../../ports/storage-kit.ts";
import type { RunHead } from "../../ports/storage.ts";
import type { Bucket } from "../../ports/bucket.ts";
import { slotKey, snapshotKey } from "./layout.ts";
import type { Logs } from "./logs.ts";
import { gone, readBy, unreadBy, writeObject, type State } from "./record.ts";
import type { RunLog } from "./run-log.ts";

const keysAtOnce = 1_000;
const writesAtOnce = 6;
/** Longer than anybody believes in a log without a look at its first slot, by as much as clocks may be apart. */
const settledMs = 60_000;

/** Changes the state of a run, as often as others are first; `null` from `change` leaves it as it is. */
export type Change = (locator: string, change: (state: State) => State | null) => Promise<RunLog | null>;

export interface FamilyParts {
  readonly bucket: Bucket;
  readonly logs: Logs;
  readonly now: () => number;
  readonly change: Change;
}

export class Family {
  readonly #bucket: Bucket;
  readonly #logs: Logs;
  readonly #now: () => number;
  readonly #change: Change;

  constructor({ bucket, logs, now, change }: FamilyParts) {
    this.#bucket = bucket;
    this.#logs = logs;
    this.#now = now;
    this.#change = change;
  }

  /** The logs a new run reads; refused where one of them has gone. */
  ancestors({ runId, ancestors }: RunHead, position: number): Promise<RunLog[]> {
    return Promise.all(
      ancestors.map(async (locator) => {
        const { log } = await this.#logs.load(locator);
        if (log === null || log.state.closed) throw conflict(runId, position, true);
        return log;
      }),
    );
  }

  /** Notes in all of them that a new run reads them. */
  async register({ runId, ancestors }: RunHead, reader: string): Promise<void> {
    const read = await Promise.all(
      ancestors.map(async (locator) => {
        const log = await this.#change(locator, (state) =>
          state.readers.includes(reader) ? null : readBy(state, this.#now(), reader),
        );
        return log !== null && !log.state.closed;
      }),
    );
    if (read.every(Boolean)) return;
    await this.unregister(ancestors, reader);
    throw conflict(runId, 0, true);
  }

  /** The other way round; the last to go takes along what was kept for it. */
  async unregister(ancestors: readonly string[], reader: string): Promise<void> {
    await Promise.all(
      ancestors.map(async (locator) => {
        const log = await this.#change(locator, (state) =>
          state.readers.includes(reader) ? unreadBy(state, this.#now(), reader) : null,
        );
        if (log?.state.closed === true) await this.free(log);
      }),
    );
  }

  /** Takes away what a closed run held. Its first and its last slot stay, so that nobody who slept writes into it. */
  async free(log: RunLog): Promise<void> {
    const { locator, generation, slot, state } = log;
    await this.unregister(state.head.ancestors, state.reader);
    await this.#bucket.delete([snapshotKey(locator), ...(state.markers ?? [])]);
    await this.#bucket.put(slotKey({ locator, generation, slot: 0 }), writeObject(gone));
    this.#logs.forget(log);
    await this.clear(
      Array.from({ length: Math.max(0, slot - 1) }, (_, i) => slotKey({ locator, generation, slot: i + 1 })),
      state.at,
    );
  }

  /**
   * Slots between the first and the last of a life that is over. Soon after the last of them was written somebody may
   * still believe that one of them is free, and not look at the first: then they are only emptied.
   */
  async clear(keys: readonly string[], at: number): Promise<void> {
    if (this.#now() - at >= settledMs) {
      for (let from = 0; from < keys.length; from += keysAtOnce)
        await this.#bucket.delete(keys.slice(from, from + keysAtOnce));
      return;
    }
    for (let from = 0; from < keys.length; from += writesAtOnce)
      await Promise.all(
        keys.slice(from, from + writesAtOnce).map((key) => this.#bucket.put(key, writeObject(gone))),
      );
  }
}
