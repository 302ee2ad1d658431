/**
 * Parts of a model's stream in recorded form.
 *
 * C1. Consecutive deltas of one kind and id that come within a short time are one chunk, as a list; reading
 *     it gives the same deltas.
 * C2. A chunk has its time in milliseconds since the first, so that a replay can keep the pace.
 *
 * Proven in test/stream.test.ts.
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

/** How long deltas are collected for one chunk. */
export const gatherMs = 100;
/** How many deltas one chunk holds at most. */
const mostDeltas = 256;

interface Gathered {
  readonly at: number;
  readonly type: string;
  readonly id: string;
  readonly deltas: string[];
}

/** Collects deltas into chunks; other parts pass through. */
export class Packer {
  readonly #ms: number;
  #gathered: Gathered | null = null;

  constructor(ms: number = gatherMs) {
    this.#ms = ms;
  }

  /** The latest time at which the collected deltas should be written; `null` when there are none. */
  get due(): number | null {
    return this.#gathered === null ? null : this.#gathered.at + this.#ms;
  }

  /** Adds a part and returns the chunks that are complete. */
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
