/**
 * Forks and the runs they read: registering readers, and removing a deleted run once no fork reads it.
 *
 * family.1. A fork is registered in the logs of all runs it reads before it begins; a closed log accepts no readers.
 * family.2. A deleted run is closed by the record that leaves it without readers: the deletion, or the last reader's end.
 * family.3. Nothing of a closed run is deleted before its first slot marks it as gone. If a process is interrupted while
 *     it removes a run, the next process that meets the closed run continues.
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
/**
 * Longer than any process trusts a log without reading its first slot again (`believedMs` of logs.ts), by the largest
 * difference between clocks that is tolerated.
 */
const settledMs = 60_000;

/** Changes the state of a run, and tries again when another writer was first; `null` from `change` leaves it unchanged. */
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

  /** The logs that a new run reads. Throws a conflict if one of them is deleted. */
  ancestors({ runId, ancestors }: RunHead, position: number): Promise<RunLog[]> {
    return Promise.all(
      ancestors.map(async (locator) => {
        const { log } = await this.#logs.load(locator);
        if (log === null || log.state.closed) throw conflict(runId, position, true);
        return log;
      }),
    );
  }

  /** Records in all ancestors that a new run reads them. */
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

  /** Undoes `register`. When the last reader of a deleted run goes, the run goes too. */
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

  /** Removes the objects of a closed run. Its first and last slot stay, so that a delayed writer cannot write into it. */
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
   * Removes the slots between the first and the last of a generation that is over. Shortly after the last one was
   * written, a driver may still try one of them without reading the first slot. Until `settledMs` has passed they are
   * emptied, not deleted.
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
