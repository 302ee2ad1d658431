/** Collects chunks into entries, by time and by size. */

import { encode } from "../../values/codec/encode.ts";
import type { Json } from "../../values/codec/tags.ts";
import type { Fact } from "../../journal/entry.ts";
import { DurableError } from "../../values/errors.ts";
import { limits } from "../../values/limits.ts";
import type { World } from "../../ports/world.ts";

/** What a producer may return: an async generator, a `ReadableStream`, or any iterable. */
export type Chunks<T> = AsyncIterable<T> | Iterable<T>;

/** Receives the entries, and has the clock for collecting them. */
export interface Sink {
  readonly world: World;
  write(fact: Fact<Json>): void;
}

/** The attempt that chunks belong to. */
interface Source {
  readonly key: string;
  readonly after: number;
  readonly attempt: number;
}

/** A chunk waits at most this long before it is written. */
const gatherMs = 100;

export class ChunkBuffer {
  readonly #sink: Sink;
  readonly #source: Source;
  readonly #where: string;
  readonly #pending: () => number;
  #chunks: Json[] = [];
  #bytes = 0;
  #total = 0;
  #cancel: (() => void) | null = null;
  /** Chunks handed to the journal. */
  written = 0;
  /** When the first chunk arrived. */
  #firstAt: number | null = null;

  constructor(
    sink: Sink,
    source: Source,
    { where, pending }: { readonly where: string; readonly pending: () => number },
  ) {
    this.#sink = sink;
    this.#source = source;
    this.#where = where;
    this.#pending = pending;
  }

  get attempt(): number {
    return this.#source.attempt;
  }

  /** Chunks that were written before are not durable yet. */
  get waits(): boolean {
    return this.#pending() > 0;
  }

  /** The field of the entry that ends the stream. */
  get first(): { readonly firstAt?: number } {
    return this.#firstAt === null ? {} : { firstAt: this.#firstAt };
  }

  get isFull(): boolean {
    return this.#chunks.length >= limits.chunksPerEntry || this.#bytes >= limits.chunkBytes;
  }

  /** Adds a chunk, and returns it as it will be recorded. */
  push(chunk: unknown): Json {
    const json = encode(chunk, this.#where);
    const size = typeof json === "string" ? json.length : JSON.stringify(json).length;
    this.#total += size;
    const count = this.written + this.#chunks.length + 1;
    if (this.#total > limits.streamBytes || count > limits.streamChunks) {
      throw new DurableError(
        "too-large",
        `The ${this.#where} is number ${count} and makes ${this.#total} bytes; the limits are ${limits.streamChunks} and ${limits.streamBytes}. Split the stream.`,
        { details: { size: this.#total, limit: limits.streamBytes } },
      );
    }
    this.#firstAt ??= this.#sink.world.now();
    this.#chunks.push(json);
    this.#bytes += size;
    this.#cancel ??= this.#timer();
    return json;
  }

  #timer(): () => void {
    return this.#sink.world.timer(gatherMs, () => {
      if (this.waits) this.#cancel = this.#timer();
      else this.flush();
    });
  }

  flush(): void {
    this.close();
    if (this.#chunks.length === 0) return;
    const { key, after, attempt } = this.#source;
    const chunks = this.#chunks;
    this.#sink.write({ kind: "stream.chunks", key, after, attempt, from: this.written, chunks });
    this.written += chunks.length;
    this.#chunks = [];
    this.#bytes = 0;
  }

  /** Cancels the timer. */
  close(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
