/**
 * The current chapter of one run's log, as far as this process has read it. It grows until the next chapter begins, and
 * then starts anew.
 */

import { beginsChapter, readFrom, writeObject, type BlobText, type LogRecord, type State } from "./record.ts";

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
  /** How many of its batches, and of its characters, are in the base. */
  base = 0;
  baseSize = 0;
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
    this.base = this.baseSize = 0;
    this.size = this.#blobSize;
    this.#blobSize = 0;
  }

  #name(name: string, named: NamedText): void {
    this.blobs.set(name, named);
    if (typeof named.text !== "string") return;
    this.size += named.text.length;
    this.#blobSize += named.text.length;
  }

  /** The chapter as one object, without the batches and blobs that are in the base. */
  toSnapshot(base = this.base): string {
    const { generation: life, slot, state, from } = this;
    const batches = this.batches.slice(base);
    const blobs = [...this.blobs]
      .filter(([, { position }]) => position >= from + base)
      .map(([name, named]) => [name, named.position, named.text, named.slot]);
    return writeObject({ life, slot, state, from, base, batches, blobs });
  }

  /**
   * `null` when batches are missing; the caller then reads the log instead. A base has the form of a snapshot, and may be
   * newer than the snapshot that names it.
   */
  static fromSnapshot(locator: string, raw: Snapshot, base: Snapshot): RunLog | null {
    const log = new RunLog(locator, raw.life);
    log.from = raw.from;
    log.base = base.life === raw.life && base.from === raw.from ? raw.base : 0;
    const end = raw.from + log.base;
    log.#fill(
      base.batches.slice(0, log.base),
      base.blobs.filter(([, at]) => at < end),
    );
    log.baseSize = log.size;
    log.#fill(raw.batches, raw.blobs);
    log.slot = log.saved = raw.slot;
    log.#state = readFrom(raw.slot, raw.state);
    return raw.state.length === raw.from + log.batches.length ? log : null;
  }

  #fill(batches: readonly string[], blobs: Snapshot["blobs"]): void {
    for (const batch of batches) {
      this.batches.push(batch);
      this.size += batch.length;
    }
    for (const [name, position, text, slot] of blobs) this.#name(name, { position, slot, text });
  }
}

export interface Snapshot {
  readonly life: number;
  readonly slot: number;
  readonly state: State;
  readonly from: number;
  readonly base: number;
  readonly batches: readonly string[];
  readonly blobs: readonly (readonly [string, number, BlobText, number?])[];
}

const longestTail = 64;
const endTail = 16;
const handedOnTail = 8;

/**
 * Whether a snapshot is due. While a run is driven, its chapter must have grown by half, so that the total size of all
 * its snapshots is proportional to the log and not to its square. A chapter that begins always gets one, so that a
 * reader never starts in an earlier one. A run that parks always gets one, because any process may resume it. A driver
 * that releases its lease writes one, so that the next driver need not read slot by slot.
 */
export function wantsSnapshot({ slot, saved, state }: RunLog): boolean {
  const tail = slot - saved;
  const { chapterSlot: begin = -1 } = state;
  if (saved < begin || tail >= Math.max(longestTail, (saved - begin) / 2)) return true;
  const { status } = state.head;
  if (status === "running") return state.lease === null && tail >= handedOnTail;
  return status === "suspended" || tail >= endTail;
}
