/**
 * Forks and the runs they read: registering readers, and removing a deleted run once no fork reads it.
 *
 * family.1. A fork is registered in the logs of all runs it reads before it begins; a closed log accepts no readers.
 * family.2. A deleted run is closed by the record that leaves it without readers: the deletion, or the last reader's end.
 * family.3. A fork is registered with the position from which it reads, and a log that has dropped more does not accept
 *     it. Both are records of one log, so a fork and a drop cannot both succeed.
 * family.4. Nothing of a closed run is deleted before its first slot marks it as gone. If a process is interrupted while
 *     it removes a run, the next process that meets the closed run continues.
 */

import { conflict, droppedConflict, readsFrom } from "../../ports/storage-kit.ts";
import type { RunHead } from "../../ports/storage.ts";
import type { Bucket } from "../../ports/bucket.ts";
import { baseKey, markersOf, slotKey, snapshotKey, type Place } from "./layout.ts";
import type { Logs } from "./logs.ts";
import { firstPosition, gone, hidden, indexed, readBy, unreadBy, writeObject, type State } from "./record.ts";
import type { RunLog } from "./run-log.ts";
import { atOnce } from "../../values/limits.ts";

const writesAtOnce = 6;
/**
 * Longer than any process trusts a log without reading its first slot again (`believedMs` of logs.ts), by the largest
 * difference between clocks that is tolerated.
 */
const settledMs = 60_000;

/** Changes the state of a run, and tries again when another writer was first; `null` from `change` leaves it unchanged. */
export type Change = (
  locator: string,
  change: (state: State, place: Place) => State | null,
) => Promise<RunLog | null>;

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

  /** The logs that a run reads. Throws a conflict if one of them is deleted, or has dropped what a new run reads. */
  async ancestors(head: RunHead, position: number): Promise<RunLog[]> {
    const logs = await Promise.all(
      head.ancestors.map(async (locator) => {
        const { log } = await this.#logs.load(locator);
        if (log === null || log.state.closed) throw conflict(head.runId, position, true);
        return log;
      }),
    );
    const lacks = ({ locator, state }: RunLog): boolean => firstPosition(state) > readsFrom(head, locator);
    if (position === 0 && logs.some(lacks)) throw droppedConflict(head.runId);
    return logs;
  }

  /** Records in all ancestors that a new run reads them. */
  async register(head: RunHead, reader: string): Promise<void> {
    const { runId, ancestors } = head;
    const states = await Promise.all(
      ancestors.map(async (locator) => {
        const from = readsFrom(head, locator);
        const log = await this.#change(locator, (state) =>
          state.readers.includes(reader) || firstPosition(state) > from
            ? null
            : readBy(state, this.#now(), reader, from),
        );
        return log?.state;
      }),
    );
    if (states.every((state) => state?.closed === false && state.readers.includes(reader))) return;
    await this.unregister(ancestors, reader);
    const gone = states.some((state) => state === undefined || state.closed);
    throw gone ? conflict(runId, 0, true) : droppedConflict(runId);
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

  /** Deletes a run if it `mayGo`; true when this call did it. */
  async hide(locator: string, mayGo: (head: RunHead) => boolean): Promise<boolean> {
    let markers: string[] = [];
    const log = await this.#change(locator, (state, place) => {
      markers = [];
      if (state.deleted || !mayGo(state.head)) return null;
      markers = markersOf(place, indexed(state));
      return hidden(state, this.#now(), markers);
    });
    if (log?.state.closed === true) await this.free(log);
    else if (markers.length > 0) await this.#bucket.delete(markers);
    return markers.length > 0;
  }

  /** Goes on with a deletion that was interrupted. */
  async goOn(locator: string): Promise<void> {
    const { log } = await this.#logs.load(locator);
    if (log?.state.closed === true) await this.free(log);
  }

  /** Removes the objects of a closed run. Its first and last slot stay, so that a delayed writer cannot write into it. */
  async free(log: RunLog): Promise<void> {
    const { locator, generation, slot, state } = log;
    await this.unregister(state.head.ancestors, state.reader);
    await this.#bucket.delete([snapshotKey(locator), baseKey(locator), ...(state.markers ?? [])]);
    await this.#bucket.put(slotKey({ locator, generation, slot: 0 }), writeObject(gone));
    this.#logs.forget(log);
    // Batches that were dropped long ago are removed already, so their slots need not be emptied.
    const dropped = state.dropped?.previous.at(-1)?.slot ?? 0;
    const start = this.isSettled(state.at) ? 1 : Math.max(1, dropped);
    await this.clear(
      Array.from({ length: Math.max(0, slot - start) }, (_, i) =>
        slotKey({ locator, generation, slot: start + i }),
      ),
      state.at,
    );
  }

  /** True when no process can still try a slot that was written at this time. */
  isSettled(at: number): boolean {
    return this.#now() - at >= settledMs;
  }

  /**
   * Removes slots that are no longer part of a log: those between the first and the last of a generation that is over,
   * and those of dropped chapters. Shortly after the last one was written, a driver may still try one of them without
   * reading the first slot. Until `settledMs` has passed they are emptied, not deleted.
   */
  async clear(keys: readonly string[], at: number): Promise<void> {
    if (this.isSettled(at)) {
      for (let from = 0; from < keys.length; from += atOnce.bucketKeys)
        await this.#bucket.delete(keys.slice(from, from + atOnce.bucketKeys));
      return;
    }
    for (let from = 0; from < keys.length; from += writesAtOnce)
      await Promise.all(
        keys.slice(from, from + writesAtOnce).map((key) => this.#bucket.put(key, writeObject(gone))),
      );
  }
}
