/**
 * The current chapter of one run's log, as far as this process has read it. It grows until the next chapter begins, and
 * then starts anew.
 */

import {
  beginsChapter,
  readFrom,
  readObject,
  writeObject,
  type BlobText,
  type LogRecord,
  type State,
} from "./record.ts";

export interface NamedText {
  /** The first batch of the chapter that names it, and the slot of that batch; older snapshots have no slot. */
  readonly position: number;
  readonly slot?: number | undefined;
  readonly text: BlobText;
}

/** A copy of what a log has: the log itself may go on to its next chapter at any time. */
export interface Chapter {
  readonly from: number;
  readonly batches: readonly string[];
  readonly blobs: ReadonlyMap<string, NamedText>;
  readonly state: State;
}

export class RunLog {
  readonly locator: string;
  readonly generation: number;
  /** The position of the first batch. */
  from = 0;
  batches: string[] = [];
  /** Blobs that this chapter names. */
  blobs = new Map<string, NamedText>();
  /** Blobs of the chapter before, if this process has read it. */
  earlier: ReadonlyMap<string, NamedText> = new Map();
  slot = -1;
  /** The last slot of the latest snapshot that this process knows of. */
  saved = -1;
  /** Characters of its batches and blobs. */
  size = 0;
  /** When its first slot was last read without the mark that the generation is over. */
  aliveAt = 0;
  #state: State | null = null;
  #blobSize = 0;

  /** `first` is the record that the log begins with: its first one, or one that begins a chapter. */
  constructor(locator: string, generation: number, first?: LogRecord) {
    this.locator = locator;
    this.generation = generation;
    if (first === undefined) return;
    this.slot = first.slot - 1;
    this.learn(first);
  }

  /** A log is only used after its first record was learned. */
  get state(): State {
    return this.#state as State;
  }

  get chapter(): Chapter {
    const { from, batches, blobs, state } = this;
    return { from, batches: batches.slice(0, state.length - from), blobs: new Map(blobs), state };
  }

  /** Adds the next record. Any other record is ignored. */
  learn({ slot, state, batch, blobs = [] }: LogRecord): void {
    if (slot !== this.slot + 1) return;
    this.slot = slot;
    this.#state = state;
    if (batch === undefined) return;
    const position = state.length - 1;
    if (beginsChapter(state)) this.#turn(position);
    for (const [name, text] of blobs) this.#name(name, { position, slot, text });
    this.batches.push(batch);
    this.size += batch.length;
  }

  #turn(position: number): void {
    this.earlier = this.blobs;
    this.blobs = new Map();
    this.batches = [];
    this.from = position;
    this.size = this.#blobSize;
    this.#blobSize = 0;
  }

  #name(name: string, named: NamedText): void {
    this.blobs.set(name, named);
    if (typeof named.text !== "string") return;
    this.size += named.text.length;
    this.#blobSize += named.text.length;
  }

  /** The whole chapter as one object. */
  toSnapshot(): string {
    const blobs = [...this.blobs].map(([name, { position, text, slot }]) => [name, position, text, slot]);
    const { generation, slot, state, batches, from } = this;
    return writeObject({ life: generation, slot, state, batches, blobs, ...(from > 0 && { from }) });
  }

  /** Throws when the snapshot cannot be read; the caller then reads the log instead. */
  static fromSnapshot(locator: string, text: string): RunLog {
    const raw = readObject(text, "snapshot") as unknown as {
      readonly life: number;
      readonly slot: number;
      readonly state: State;
      readonly from?: number;
      readonly batches: readonly string[];
      readonly blobs: readonly (readonly [string, number, BlobText, number?])[];
    };
    const log = new RunLog(locator, raw.life);
    log.slot = raw.slot;
    log.saved = raw.slot;
    log.#state = readFrom(raw.slot, raw.state);
    log.from = raw.from ?? 0;
    for (const batch of raw.batches) {
      log.batches.push(batch);
      log.size += batch.length;
    }
    for (const [name, position, blob, slot] of raw.blobs) log.#name(name, { position, slot, text: blob });
    if (raw.state.length !== log.from + log.batches.length)
      throw new TypeError("The snapshot has fewer batches than its state says.");
    return log;
  }
}

const longestTail = 64;
const endTail = 16;
const handedOnTail = 8;
/** A larger log gets a snapshot only when its tail is long. */
const cheapSize = 16 * 1024 * 1024;

/**
 * Whether a snapshot is due. While a run is driven, its chapter must have grown by half, so that the total size of all
 * its snapshots is proportional to the log and not to its square. A chapter that begins always gets one, so that a
 * reader never starts in an earlier one. A run that parks always gets one, because any process may resume it. A driver
 * that releases its lease writes one, so that the next driver need not read slot by slot.
 */
export function wantsSnapshot({ slot, saved, size, state }: RunLog): boolean {
  const tail = slot - saved;
  const { chapterSlot: begin = -1 } = state;
  if (saved < begin || tail >= Math.max(longestTail, (saved - begin) / 2)) return true;
  if (size > cheapSize) return false;
  const { status } = state.head;
  if (status === "running") return state.lease === null && tail >= handedOnTail;
  return status === "suspended" || tail >= endTail;
}
