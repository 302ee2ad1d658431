/** One stream of a journal without a workflow: passed on as it arrives, and recorded. */

import { decode } from "../values/codec/decode.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { StepInfo } from "../engine/calls/info.ts";
import { ChunkBuffer, type Chunks } from "../engine/calls/stream.ts";
import { Signal } from "../engine/promise.ts";
import type { KeyRecord } from "../engine/replay.ts";
import type { Entry, Fact } from "../journal/entry.ts";
import { DurableError } from "../values/errors.ts";
import type { Meter } from "../values/usage.ts";
import type { World } from "../ports/world.ts";

/** The chunks of a recorded stream, for `getReader()` or `for await`. */
export type RecordedStream<T> = ReadableStream<T>;

interface Place {
  readonly world: World;
  readonly where: string;
  /** The position of the journal's latest entry. */
  readonly seq: () => number;
  readonly append: (fact: Fact<Json>) => Promise<void>;
}

/** What is recorded. */
interface Subject {
  readonly key: string;
  readonly input: { readonly input?: string };
  readonly info: StepInfo;
  readonly meter: Meter;
}

export class Recording {
  readonly #about: Subject;
  readonly #place: Place;
  /** Encoded, so that every reader decodes its own values. */
  readonly #chunks: Json[] = [];
  /** One signal per reader, set when a chunk or the end arrives. */
  #readers = new Set<Signal>();
  #end: { readonly error?: unknown } | null = null;

  constructor(about: Subject, place: Place) {
    this.#about = about;
    this.#place = place;
  }

  /** The fingerprint of its input. */
  get input(): string | null {
    return this.#about.input.input ?? null;
  }

  /** True when it failed; the next call records it again. */
  get failed(): boolean {
    return this.#end !== null && "error" in this.#end;
  }

  /** A reader of all chunks, from the first. Recording continues when a reader is cancelled. */
  read(): ReadableStream<unknown> {
    let next = 0;
    const signal = new Signal();
    this.#readers.add(signal);
    return new ReadableStream<unknown>({
      pull: async (controller) => {
        while (next >= this.#chunks.length && this.#end === null) await signal.wait();
        const chunk = this.#chunks[next];
        if (chunk !== undefined) {
          next += 1;
          return controller.enqueue(decode(chunk, `chunk of ${this.#place.where}`));
        }
        this.#readers.delete(signal);
        if (this.failed) controller.error(this.#end?.error);
        else controller.close();
      },
      cancel: () => void this.#readers.delete(signal),
    });
  }

  /** Returns the recorded chunks. */
  replay(
    { count }: Entry & { kind: "stream.completed" },
    entries: readonly (Entry & { kind: "stream.chunks" })[],
  ): void {
    for (const { chunks } of entries) for (const chunk of chunks) this.#chunks.push(chunk);
    const found = this.#chunks.length;
    if (found !== count) {
      throw new DurableError(
        "corrupt",
        `The ${this.#place.where} ended with ${count} chunks, but ${found} are recorded. Restore the journal from a backup.`,
      );
    }
    this.#over({});
  }

  start(producer: (info: StepInfo) => Chunks<unknown> | Promise<Chunks<unknown>>): void {
    void this.#record(producer).then(
      () => this.#over({}),
      (error: unknown) => this.#over({ error }),
    );
  }

  async #record(producer: (info: StepInfo) => Chunks<unknown> | Promise<Chunks<unknown>>): Promise<void> {
    const { world, where, seq, append } = this.#place;
    const { key, input, info, meter } = this.#about;
    const attempted = { key, after: seq(), startedAt: world.now(), attempt: info.attempt, ...input };
    let pending = 0;
    let broken: { readonly error: unknown } | null = null;
    const landed = new Signal();
    const write = (fact: Fact<Json>): void => {
      const count = fact.kind === "stream.chunks" ? fact.chunks.length : 0;
      pending += count;
      void append(fact)
        .catch((error: unknown) => (broken ??= { error }))
        .finally(() => {
          pending -= count;
          landed.set();
        });
    };
    const buffer = new ChunkBuffer({ world, write }, attempted, {
      where: `chunk of ${where}`,
      pending: () => pending,
    });
    try {
      for await (const chunk of await producer(info)) {
        this.#notify(buffer.push(chunk));
        while (buffer.isFull && buffer.waits) await landed.wait();
        if (buffer.isFull) buffer.flush();
        if (broken !== null) throw (broken as { readonly error: unknown }).error;
      }
      // One append after the other, because a foreign chunk is recognized by its index (see `follows`).
      while (buffer.waits) await landed.wait();
      buffer.flush();
      while (buffer.waits) await landed.wait();
      if (broken !== null) throw (broken as { readonly error: unknown }).error;
      const { written: count, first } = buffer;
      await append({ kind: "stream.completed", ...attempted, ...meter.noted, count, ...first });
    } catch (thrown) {
      while (buffer.waits) await landed.wait();
      if (broken === null) {
        buffer.flush();
        const error = encodeThrown(thrown, `error of ${where}`);
        const failed = { stream: true, error, retryAt: world.now() } as const;
        await append({ kind: "attempt.failed", ...attempted, ...meter.noted, ...failed });
      }
      throw thrown;
    } finally {
      buffer.close();
    }
  }

  #notify(chunk: Json): void {
    this.#chunks.push(chunk);
    for (const signal of this.#readers) signal.set();
  }

  #over(end: { readonly error?: unknown }): void {
    this.#end = end;
    for (const signal of this.#readers) signal.set();
  }
}

/** Some chunks of a stream, or its end. */
type Part = Extract<Fact<Json>, { kind: "stream.chunks" | "stream.completed" }>;

export function isPart(fact: Fact<Json>): fact is Part {
  return fact.kind === "stream.chunks" || fact.kind === "stream.completed";
}

/** True for the next part of the latest attempt, and for the first part of a later one. Others are of another process. */
export function follows(
  part: Part,
  recorded: Pick<KeyRecord, "attempt" | "chunks"> = { attempt: 0, chunks: [] },
): boolean {
  const index = part.kind === "stream.chunks" ? part.from : part.count;
  const last = recorded.chunks.at(-1);
  const next = last === undefined ? 0 : last.from + last.chunks.length;
  return part.attempt === recorded.attempt ? index === next : part.attempt > recorded.attempt && index === 0;
}

export function otherwise(id: string, key: string, how: string): DurableError {
  return new DurableError(
    "diverged",
    `"${key}" of journal ${id} is recorded ${how}. Use another key, or put the input into the key.`,
    { details: { key } },
  );
}

export function ended(id: string): DurableError {
  return new DurableError(
    "conflict",
    `Journal ${id} has ended and accepts no more records. Choose another id.`,
  );
}

export function overtaken(id: string, key: string): DurableError {
  return new DurableError(
    "conflict",
    `Another process also records stream "${key}" of journal ${id}, and wrote first. Open the journal again to read its stream.`,
  );
}

export function owned(id: string, workflow: string): DurableError {
  return new DurableError(
    "workflow-mismatch",
    `Run ${id} belongs to workflow "${workflow}", and only that workflow may write to it. Choose another id.`,
  );
}
