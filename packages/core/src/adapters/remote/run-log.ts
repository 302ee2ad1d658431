/** The log of one run as far as it is known here: it only grows. */

import { readObject, writeObject, type BlobText, type LogRecord, type State } from "./record.ts";

interface NamedText {
  /** The batch that was the first to name it. */
  readonly position: number;
  readonly text: BlobText;
}

export class RunLog {
  readonly locator: string;
  readonly generation: number;
  readonly batches: string[] = [];
  readonly blobs = new Map<string, NamedText>();
  slot = -1;
  /** The slot up to which the latest snapshot goes, as far as is known. */
  saved = -1;
  /** Characters it holds. */
  size = 0;
  /** When its first slot was last seen not to say that it has gone. */
  aliveAt = 0;
  #state: State | null = null;

  constructor(locator: string, generation: number) {
    this.locator = locator;
    this.generation = generation;
  }

  /** There is a first record before anybody asks. */
  get state(): State {
    return this.#state as State;
  }

  /** Takes in the next record; those before it are known. */
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

  /** All of it as one object. */
  toSnapshot(): string {
    const blobs = [...this.blobs].map(([name, { position, text }]) => [name, position, text]);
    const { generation, slot, state, batches } = this;
    return writeObject({ life: generation, slot, state, batches, blobs });
  }

  /** Throws what it cannot read: a snapshot is worth no more than a try. */
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
    if (raw.state.length !== log.batches.length) throw new TypeError("A snapshot lacks batches.");
    return log;
  }
}

const longestTail = 64;
const endTail = 16;
const handedOnTail = 8;
/** Above this a snapshot is made only when it pays. */
const cheapSize = 16 * 1024 * 1024;

/**
 * Whether a snapshot is due. While a run goes on, the log must have grown by half, so that all snapshots of a run
 * together are as long as the run and not as its square. Where it parks, always: it may be resumed from anywhere. Where
 * its driver hands it on, the next one should not have to read what this one wrote, piece by piece.
 */
export function wantsSnapshot({ slot, saved, size, state }: RunLog): boolean {
  const tail = slot - saved;
  if (tail >= Math.max(longestTail, saved / 2)) return true;
  if (size > cheapSize) return false;
  const { status } = state.head;
  if (status === "running") return state.lease === null && tail >= handedOnTail;
  return status === "suspended" || tail >= endTail;
}
