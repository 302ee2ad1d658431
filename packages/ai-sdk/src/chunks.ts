/**
 * Parts of a model's stream as they are recorded.
 *
 * C1. Deltas of one kind and id that follow each other closely are one chunk, as a list: what is read is what came.
 * C2. A chunk says when it came, in milliseconds from the first, so that a replay can keep the pace.
 */

/** A part of a stream, of any version of the SDK. */
export interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A part as it is recorded: with its time, and with text deltas of one id packed into one chunk. */
export type PartChunk =
  | readonly [at: number, part: Part]
  | readonly [at: number, type: string, id: string, deltas: readonly string[]];

/** The parts that a recorded chunk contains. Parts that a fork put in its place are returned as they are. */
export function partsOf(chunk: PartChunk | Part): readonly Part[] {
  if (!isChunk(chunk)) return [chunk];
  if (chunk.length === 2) return [chunk[1]];
  const [, type, id, deltas] = chunk;
  return deltas.map((delta) => ({ type, id, delta }));
}

function isChunk(chunk: PartChunk | Part): chunk is PartChunk {
  return Array.isArray(chunk);
}

/** Deltas are gathered for so long. */
export const gatherMs = 100;
/** And up to so many. */
const mostDeltas = 256;

interface Gathered {
  readonly at: number;
  readonly type: string;
  readonly id: string;
  readonly deltas: string[];
}

/** Gathers deltas; everything else goes through. */
export class Packer {
  readonly #ms: number;
  #gathered: Gathered | null = null;

  constructor(ms: number = gatherMs) {
    this.#ms = ms;
  }

  /** When what is gathered should be written, at the latest; `null` when there is nothing. */
  get due(): number | null {
    return this.#gathered === null ? null : this.#gathered.at + this.#ms;
  }

  /** Takes a part in and gives the chunks that are complete. */
  take(part: Part, at: number): PartChunk[] {
    const { type, id, delta } = part;
    if (typeof id !== "string" || typeof delta !== "string" || Object.keys(part).length !== 3)
      return [...this.flush(), [at, part]];
    const last = this.#gathered;
    const joins = last !== null && last.type === type && last.id === id && at < last.at + this.#ms;
    if (joins && last.deltas.length < mostDeltas) {
      last.deltas.push(delta);
      return [];
    }
    const complete = this.flush();
    this.#gathered = { at, type, id, deltas: [delta] };
    return complete;
  }

  flush(): PartChunk[] {
    if (this.#gathered === null) return [];
    const { at, type, id, deltas } = this.#gathered;
    this.#gathered = null;
    return [[at, type, id, deltas]];
  }
}
