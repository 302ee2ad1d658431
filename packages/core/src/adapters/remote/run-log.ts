/** The log of one run, as far as this process has read it. It only grows. */

import { readObject, writeObject, type BlobText, type LogRecord, type State } from "./record.ts";

interface NamedText {
  /** The first batch that names it. */
  readonly position: number;
  readonly text: BlobText;
}

export class RunLog {
  readonly locator: string;
  readonly generation: number;
  readonly batches: string[] = [];
  readonly blobs = new Map<string, NamedText>();
  slot = -1;
  /** The last slot of the latest snapshot that this process knows of. */
  saved = -1;
  /** Characters of its batches and blobs. */
  size = 0;
  /** When its first slot was last read without the mark that the generation is over. */
  aliveAt = 0;
  #state: State | null = null;

  constructor(locator: string, generation: number) {
    this.locator = locator;
    this.generation = generation;
  }

  /** A log is only used after its first record was learned. */
  get state(): State {
    return this.#state as State;
  }

  /** Adds the next record. Any other record is ignored. */
  learn({ slot, state, batch, blobs = [] }: LogRecord): void {
    if (slot !== this.slot + 1) return;
    this.slot = slot;
    this.#state = state;
    for (const [name, text] of blobs) this.#name(name, { position: this.batches.length, text });
    if (batch === undefined) return;
    this.batches.push(batch);
    this.size += batch.length;
  }

  #name(name: string, named: NamedText): void {
    this.blobs.set(name, named);
    if (typeof named.text === "string") this.size += named.text.length;
  }

  /** The whole log as one object. */
  toSnapshot(): string {
    const blobs = [...this.blobs].map(([name, { position, text }]) => [name, position, text]);
    const { generation, slot, state, batches } = this;
    return writeObject({ life: generation, slot, state, batches, blobs });
  }

  /** Throws when the snapshot cannot be read; the caller then reads the log instead. */
  static fromSnapshot(locator: string, text: string): RunLog {
    const raw = readObject(text, "snapshot") as unknown as {
      readonly life: number;
      readonly slot: number;
      readonly state: State;
      readonly batches: readonly string[];
      readonly blobs: readonly (readonly [string, number, BlobText])[];
    };
    const log = new RunLog(locator, raw.life);
    log.slot = raw.slot;
    log.saved = raw.slot;
    log.#state = raw.state;
    for (const batch of raw.batches) {
      log.batches.push(batch);
      log.size += batch.length;
    }
    for (const [name, position, blob] of raw.blobs) log.#name(name, { position, text: blob });
    if (raw.state.length !== log.batches.length)
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
 * Whether a snapshot is due. While a run is driven, the log must have grown by half, so that the total size of all its
 * snapshots is proportional to the log and not to its square. A run that parks always gets one, because any process may
 * resume it. A driver that releases its lease writes one, so that the next driver need not read slot by slot.
 */
export function wantsSnapshot({ slot, saved, size, state }: RunLog): boolean {
  const tail = slot - saved;
  if (tail >= Math.max(longestTail, saved / 2)) return true;
  if (size > cheapSize) return false;
  const { status } = state.head;
  if (status === "running") return state.lease === null && tail >= handedOnTail;
  return status === "suspended" || tail >= endTail;
}
