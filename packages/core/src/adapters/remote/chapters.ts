/**
 * Chapters of a log before its current one: reading and dropping them.
 *
 * remote-chapters.1. A chapter needs nothing of an earlier one: its records have the content of every blob that it names.
 * remote-chapters.2. Batches are dropped by a record of the log, which names the slot that the log begins with from then on.
 *     The records before that slot are removed afterwards. If a process is interrupted meanwhile, the next drop, a
 *     deletion or `rebuild` continues.
 * remote-chapters.3. Every slot with which the log began before forwards to a later one, before anything after it is removed
 *     and before the next drop is recorded. So a reader that begins at any of them reaches the present beginning (logs.5).
 * remote-chapters.4. The slot of a position never changes within a generation, so it may be searched for before the record
 *     is written. It counts only for that generation.
 */

import type { Bucket } from "../../ports/bucket.ts";
import type { DurableError } from "../../values/errors.ts";
import { noChapter, stillRead } from "../../ports/storage-kit.ts";
import type { Change, Family } from "./family.ts";
import { baseKey, slotKey, type Place } from "./layout.ts";
import type { Logs } from "./logs.ts";
import {
  beginsChapter,
  droppedTo,
  firstPosition,
  firstSlot,
  isReadBefore,
  writeForward,
  type ChapterSlot,
  type LogRecord,
  type State,
} from "./record.ts";
import type { NamedText, RunLog } from "./run-log.ts";

/** As many requests as a Cloudflare Worker may have open at once. */
const readAhead = 6;

/** Batches of earlier chapters, and the blobs that each of them is the first of its chapter to name. */
export interface History {
  readonly batches: readonly string[];
  readonly blobs: readonly (readonly [name: string, named: NamedText])[];
}

export interface ChapterParts {
  readonly bucket: Bucket;
  readonly logs: Logs;
  readonly family: Family;
  readonly now: () => number;
  readonly change: Change;
}

export class Chapters {
  readonly #bucket: Bucket;
  readonly #logs: Logs;
  readonly #family: Family;
  readonly #now: () => number;
  readonly #change: Change;

  constructor({ bucket, logs, family, now, change }: ChapterParts) {
    this.#bucket = bucket;
    this.#logs = logs;
    this.#family = family;
    this.#now = now;
    this.#change = change;
  }

  /**
   * What a log has from a position up to its current chapter. `null` when a record is missing: it was dropped
   * meanwhile, and the log must be read again.
   */
  async before({ locator, generation, from: end, state }: RunLog, from: number): Promise<History | null> {
    const [batches, blobs]: [string[], [string, NamedText][]] = [[], []];
    const start =
      from <= firstPosition(state)
        ? firstSlot(state)
        : await this.#slotOf({ locator, generation, state }, from);
    const stop = state.chapterSlot ?? 0;
    if (start === null) return null;
    for (let next = start; next < stop; next += readAhead) {
      const places = Array.from({ length: Math.min(readAhead, stop - next) }, (_, i) => ({
        locator,
        generation,
        slot: next + i,
      }));
      for (const record of await Promise.all(places.map((place) => this.#logs.record(place)))) {
        if (record === null) return null;
        const {
          slot,
          batch,
          blobs: named = [],
          state: { length },
        } = record;
        if (batch === undefined) continue;
        batches.push(batch);
        for (const [name, text] of named) blobs.push([name, { position: length - 1, slot, text }]);
      }
    }
    return batches.length === end - Math.max(from, firstPosition(state)) ? { batches, blobs } : null;
  }

  /** The slot of the batch at a position of an earlier chapter, or at the beginning of the current one. */
  async #slotOf(
    { locator, generation, state }: Pick<RunLog, "locator" | "generation" | "state">,
    position: number,
  ): Promise<number | null> {
    let [low, high] = [firstSlot(state), state.chapterSlot ?? 0];
    // The first slot after which the log has the batch: records without a batch lie in between.
    while (low < high) {
      const slot = (low + high) >> 1;
      const record = await this.#logs.record({ locator, generation, slot });
      if (record === null) return null;
      if (record.state.length > position) high = slot;
      else low = slot + 1;
    }
    return low;
  }

  /**
   * Records that the batches before a position are dropped; what they were is still to be cleared. `null` when there is
   * nothing to drop, or another drop was recorded meanwhile: then the caller begins again.
   */
  async drop(log: RunLog, before: number): Promise<RunLog | null> {
    const { locator, generation, state: known } = log;
    const begin = await this.#begin(log, before);
    await this.#completeLinks(log);
    const isKnown = (state: State, place: Place): boolean =>
      !state.deleted && place.generation === generation && firstSlot(state) === firstSlot(known);
    const refusals: DurableError[] = [];
    const dropped = await this.#change(locator, (state, place) => {
      refusals.length = 0;
      if (!isKnown(state, place)) return null;
      if (begin === null) refusals.push(noChapter(known.head.runId, before));
      else if (isReadBefore(state, before)) refusals.push(stillRead(known.head.runId, before));
      else return droppedTo(state, { ...begin, position: before }, { slot: place.slot, now: this.#now() });
      return null;
    });
    const [refusal] = refusals;
    if (refusal !== undefined) throw refusal;
    return dropped?.generation === generation && firstPosition(dropped.state) === before ? dropped : null;
  }

  /** The slot at which a chapter begins; `null` when none begins at this position. */
  async #begin(log: RunLog, position: number): Promise<ChapterSlot | null> {
    const { locator, generation, state } = log;
    const { chapter = 0 } = state.head;
    if (position <= firstPosition(state) || position > chapter || !Number.isInteger(position)) return null;
    const slot = position === chapter ? (state.chapterSlot ?? null) : await this.#slotOf(log, position);
    const record = slot === null ? null : await this.#logs.record({ locator, generation, slot });
    return record !== null && isBegin(record, position) ? { slot: record.slot, at: record.state.at } : null;
  }

  /** Finishes what the last drop may have left: one that follows relies on it (chapters.3). */
  async #completeLinks(log: RunLog): Promise<void> {
    const { locator, generation, state } = log;
    const links = await Promise.all(
      (state.dropped?.previous ?? []).map(({ slot }) => this.#logs.isForward({ locator, generation, slot })),
    );
    if (links.includes(false)) await this.#link(log);
  }

  /** Makes the slots with which the log began before forward to the present one. */
  async #link({ locator, generation, state: { dropped } }: RunLog): Promise<void> {
    if (dropped === undefined) return;
    const forward = writeForward(dropped.slot);
    const starts = new Set([0, ...dropped.previous.map(({ slot }) => slot)]);
    const links = [...starts].map((slot) =>
      this.#bucket.put(slotKey({ locator, generation, slot }), forward),
    );
    await Promise.all(links);
  }

  /** Removes what was dropped. May be repeated. */
  async clear(log: RunLog): Promise<void> {
    const { locator, generation, state } = log;
    const { dropped } = state;
    if (dropped === undefined) return;
    // A base that the snapshot does not name has batches of an earlier chapter.
    if (log.base === 0) await this.#bucket.delete([baseKey(locator)]);
    await this.#link(log);
    const key = (slot: number): string => slotKey({ locator, generation, slot });
    const [last = { slot: 0, at: 0 }, older] = dropped.previous;
    const between = (after: number, before: number): string[] =>
      Array.from({ length: Math.max(0, before - after - 1) }, (_, i) => key(after + 1 + i));
    await this.#family.clear(between(last.slot, dropped.slot), dropped.at);
    // The slots that the previous drop had to empty can be deleted now.
    if (older !== undefined && this.#family.isSettled(last.at))
      await this.#family.clear(between(older.slot, last.slot), last.at);
  }
}

function isBegin({ batch, state }: LogRecord, position: number): boolean {
  return batch !== undefined && state.length - 1 === position && beginsChapter(state);
}
