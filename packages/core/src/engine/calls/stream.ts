/**
 * Work whose output is a sequence of chunks, recorded while they arrive.
 *
 * stream.1. Indices of chunks are dense within an attempt. A new attempt gets a new number, also after a crash, so
 *     that no reader can mix the chunks of two attempts.
 * stream.2. Chunks are gathered by time and by size, and at most two batches of one stream are held in memory:
 *     a producer that is faster than the storage waits.
 * stream.3. The workflow sees the chunks when the stream has ended, as they were recorded.
 * stream.4. Nothing is recorded before the first chunks of an attempt that came before it: an attempt that is lost shows what
 *     the code may have recorded because of its words.
 */

import { KeyedCall, type CallEngine, type CallParts } from "./call.ts";
import { decode } from "../../values/codec/decode.ts";
import { fingerprint } from "../../values/codec/fingerprint.ts";
import type { Json } from "../../values/codec/tags.ts";
import { toMs, type Duration } from "../../values/duration.ts";
import type { Fact } from "../../journal/entry.ts";
import { DurableError } from "../../values/errors.ts";
import { Attempts, type Attempted, type AttemptParts } from "./attempts.ts";
import { type Info, type StepInfo } from "./info.ts";
import { assertOptions } from "../../values/options.ts";
import { Signal, pending } from "../promise.ts";
import type { Settlement } from "../replay.ts";
import { retryPolicy, type RetryOptions } from "./retry.ts";
import type { Scope } from "../scope.ts";
import type { ByContent, Estimate, StepQuota } from "../definition.ts";
import { encode } from "../../values/codec/encode.ts";
import { limits } from "../../values/limits.ts";
import type { World } from "../../ports/world.ts";

export type Producer<T = unknown> = (info: StepInfo) => Chunks<T> | Promise<Chunks<T>>;

/** Options of `ctx.stream`. */
export interface StreamOptions {
  /** When a failed attempt is repeated; `false` means one attempt. */
  readonly retry?: RetryOptions | false | undefined;
  /** For each attempt, from its start to its last chunk. */
  readonly timeout?: Duration | undefined;
  /** What the chunks depend on. If the recorded input differs, the run is blocked instead of reusing them. */
  readonly input?: unknown;
  /**
   * The name of the stream in an earlier version of the code: what it recorded is kept. `null` says that the stream is
   * new work.
   */
  readonly was?: string | null | undefined;
  /** For what its usage is, in sums of many calls (`app.spend`); the name by default. */
  readonly label?: string | undefined;
  /** The quota of the service that the stream comes from, as that of a step. */
  readonly quota?: StepQuota | undefined;
  /** What an attempt uses, about, for quotas and budgets. A function is called only when the work is done. */
  readonly estimate?: Estimate | undefined;
  /** `false` for work that costs nothing: no budget stops it. */
  readonly budget?: false | undefined;
  /** The producer asks a model and has no other effect, as in a step. */
  readonly model?: true | undefined;
}

/**
 * With what adapters give: for a name that comes from the content of the work, what to do when that was changed; and whether the
 * code acts on the chunks while they come.
 */
type AnyStreamOptions = StreamOptions & {
  readonly byContent?: ByContent | undefined;
  readonly live?: true | undefined;
};

const known = "retry timeout input was byContent live label quota estimate budget model";

export function stream(
  engine: CallEngine,
  place: { readonly scope: Scope; readonly name: string },
  producer: Producer,
  options: AnyStreamOptions,
): Promise<unknown[]> {
  const { scope, name } = place;
  const where = `stream "${name}" of run ${engine.journal.runId}`;
  assertOptions(options, known, `The ${where}`);
  const { defaults } = engine.options;
  const { retry = defaults.retry, timeout = defaults.timeout } = options;
  const policy = retryPolicy(retry, `The ${where}`);
  const timeoutMs = timeout === undefined ? null : toMs(timeout, `The timeout of ${where}`);
  const input = options.input === undefined ? null : fingerprint(options.input, `declared input of ${where}`);
  const { was, byContent, label, quota, estimate, budget, model } = options;
  // A model whose calls are named by their content speaks to code, too.
  const live = options.live ?? (byContent === undefined ? undefined : true);
  const asked = { scope, kind: "stream", name, input, was, byContent, live, label, model } as const;
  const entered = engine.enter({ ...asked, work: producer });
  if (entered === null) return pending();
  const parts = { scope, name, producer, entered, policy, timeoutMs, input, quota, estimate, budget };
  return new StreamCall(engine, parts).promise;
}

interface StreamParts extends CallParts, AttemptParts {
  readonly producer: Producer;
}

class StreamCall extends KeyedCall<StreamParts, unknown[]> {
  readonly #attempts: Attempts;
  readonly #landed = new Signal();

  constructor(engine: CallEngine, parts: StreamParts) {
    super(engine, "stream", parts);
    this.#attempts = new Attempts(engine, this, parts);
  }

  protected answer(settlement: Settlement): void {
    if (settlement.kind === "stream.failed") this.reject(this.#attempts.failure(settlement));
    if (settlement.kind === "stream.completed") this.outcome.resolve(this.#recorded(settlement));
  }

  #recorded({ value, count }: Settlement & { kind: "stream.completed" }): unknown[] {
    const where = `chunks of ${this.where}`;
    if (value !== undefined) return decode(value, where) as unknown[];
    const entries = this.record?.chunks ?? [];
    const chunks = entries.flatMap((entry) => entry.chunks.map((chunk) => decode(chunk, where)));
    if (chunks.length === count) return chunks;
    throw new DurableError(
      "corrupt",
      `The ${this.where} ended with ${count} chunks, but ${chunks.length} are recorded. Restore the journal from a backup.`,
    );
  }

  begin(): void {
    this.#attempts.begin(() => this.#start());
  }

  due(): void {
    if (this.engine.mayStart) this.#start();
    else this.#attempts.drop();
  }

  #start(): void {
    if (this.#attempts.ready()) this.#attempts.start((this.record?.attempt ?? 0) + 1);
  }

  /** More chunks of this stream are durable. */
  recheck(): void {
    this.#landed.set();
  }

  async perform(info: Info, attempted: Attempted): Promise<Fact<Json>> {
    const source = await this.parts.producer(info);
    const buffer: ChunkBuffer = new ChunkBuffer(this.engine, attempted, {
      where: `chunk of ${this.where}`,
      pending: () => this.#pending(buffer),
    });
    const { signal } = info;
    info.rest = () => {
      // What is gathered could not be written while the run is parked.
      buffer.flush();
      info.shown?.();
      return this.engine.rest();
    };
    // Written chunks may never become durable now, so nothing may wait for them, and no timer may keep the process alive.
    const stop = (): void => {
      buffer.close();
      this.#landed.set();
    };
    signal.addEventListener("abort", stop, { once: true });
    const { unwritten } = this.engine;
    const first = (): void => {
      if (!info.over && buffer.written === 0) buffer.flush();
      if (info.over || buffer.written > 0) unwritten.delete(first);
    };
    unwritten.add(first);
    try {
      for await (const chunk of source) {
        buffer.push(chunk);
        info.said = lastWords(info.said, chunk);
        while (buffer.isFull && buffer.waits && !signal.aborted) await this.#landed.wait();
        // Timed out or no longer needed: leaving the loop ends the producer.
        signal.throwIfAborted();
        if (buffer.isFull) buffer.flush();
      }
      if (!info.over) buffer.flush();
    } finally {
      signal.removeEventListener("abort", stop);
      unwritten.delete(first);
      buffer.close();
    }
    return { kind: "stream.completed", ...attempted, count: buffer.written, ...buffer.first };
  }

  /** Chunks of this attempt that were written and are not durable yet. */
  #pending(buffer: ChunkBuffer): number {
    const { attempt, chunks = [] } = this.record ?? {};
    const last = attempt === buffer.attempt ? chunks.at(-1) : undefined;
    return buffer.written - (last === undefined ? 0 : last.from + last.chunks.length);
  }
}

/** How much of a stream is shown while it is made. */
const shownWords = 80;

/** The end of what was said so far, with the words of a chunk: a text, a field of one, or the texts at the end of a list. */
function lastWords(said: string, chunk: unknown): string {
  const words = wordsOf(chunk);
  return words === "" ? said : (said + words.slice(-shownWords)).slice(-shownWords);
}

/** A list may be its own element, so lists count only one inside another. */
function wordsOf(chunk: unknown, depth = 0): string {
  if (typeof chunk === "string") return chunk;
  if (Array.isArray(chunk) && depth < 2) {
    const last = ([chunk.at(-1)].flat() as unknown[]).slice(-shownWords);
    return last.map((one) => wordsOf(one, depth + 1)).join("");
  }
  if (typeof chunk !== "object" || chunk === null) return "";
  const { delta, text } = chunk as { readonly delta?: unknown; readonly text?: unknown };
  return typeof delta === "string" ? delta : typeof text === "string" ? text : "";
}

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
