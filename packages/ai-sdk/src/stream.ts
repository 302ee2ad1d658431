/**
 * Streams of a language model: handed on while they come, recorded, and given out again.
 *
 * S1. A stream is kept as a success only if it came to its `finish`, without an error on the way.
 * S2. Before the first word a failure is tried again. After it, the caller has heard something: in a workflow what came
 *     is recorded with the way it broke, and replayed just so; in a journal it is not kept.
 * S3. It is read to its end whether or not somebody listens. The caller's signal stops it.
 */

import type { StepInfo } from "@durable/core";
import { anySignal, type Call, type ModelId } from "./call.ts";
import { Packer, type Part, type PartChunk } from "./chunks.ts";
import { callFailure, final, keptError, restoredError } from "./errors.ts";
import { meter } from "./meter.ts";
import { breakType, headType, Output, type StreamResult } from "./output.ts";
import { plain } from "./plain.ts";
import type { Recorder } from "./recorder.ts";
import { keptResult, responseDefaults } from "./result.ts";

export type { StreamResult } from "./output.ts";

type Open = (signal: AbortSignal) => PromiseLike<StreamResult>;

export function recordStream(recorder: Recorder, call: Call, open: Open): Promise<StreamResult> {
  const { name, signal, options } = call;
  const output = new Output(options.pace ?? "instant");
  const recording = new Recording(call, open, output, recorder.keepsFailures);
  const recorded = recorder.stream(name, (info) => recording.produce(info), { retry: options.retry, signal });
  recorded.then(
    (chunks) => output.end(chunks),
    (error: unknown) => output.fail(restoredError(error), error === recording.broken),
  );
  return output.result;
}

class Recording {
  /** The error that stands for parts which said themselves what went wrong. */
  broken: unknown = null;
  readonly #call: Call;
  readonly #open: Open;
  readonly #output: Output;
  readonly #keepsFailures: boolean;

  constructor(call: Call, open: Open, output: Output, keepsFailures: boolean) {
    this.#call = call;
    this.#open = open;
    this.#output = output;
    this.#keepsFailures = keepsFailures;
  }

  async *produce(info: StepInfo): AsyncGenerator<PartChunk, void, undefined> {
    const { signal, model } = this.#call;
    if (this.#output.shown) throw final(new Error("A stream that was heard cannot begin anew."));
    const startedAt = Date.now();
    const { stream, head } = await this.#opened(info);
    this.#output.begin(head);
    yield [0, head];
    const source = new Source(stream, model, info);
    const packer = new Packer();
    try {
      for (;;) {
        const next = await source.next(packer.due === null ? null : startedAt + packer.due);
        if (next === "end") break;
        if (next === "due") yield* packer.flush();
        else
          for (const part of next) {
            this.#output.part(part);
            yield* packer.take(part, Date.now() - startedAt);
          }
      }
      yield* packer.flush();
      meter(info, model, source.finish ?? {});
      if (source.failure === null) return;
      // The driver has let go: this is no outcome.
      if (info.signal.aborted && signal?.aborted !== true) throw source.failure.error;
      yield* this.#failed(source.failure, Date.now() - startedAt);
    } finally {
      source.leave();
    }
  }

  async #opened(info: StepInfo): Promise<{ stream: ReadableStream<Part>; head: Part }> {
    try {
      const { stream, ...beside } = await this.#open(anySignal(info.signal, this.#call.signal));
      return { stream, head: { type: headType, ...keptResult(beside) } };
    } catch (error) {
      throw callFailure(error, this.#call.signal);
    }
  }

  *#failed({ error, told }: Failure, at: number): Generator<PartChunk> {
    if (!this.#output.shown) throw callFailure(error, this.#call.signal);
    if (!this.#keepsFailures) {
      const thrown = final(keptError(error));
      if (told) this.broken = thrown;
      throw thrown;
    }
    if (!told) yield [at, { type: breakType, error: keptError(error) }];
  }
}

interface Failure {
  readonly error: unknown;
  /** The parts say so themselves. */
  readonly told: boolean;
}

/** A provider's stream, read part by part, and judged. */
class Source {
  failure: Failure | null = null;
  finish: Part | null = null;
  readonly #reader: ReadableStreamDefaultReader<Part>;
  readonly #info: StepInfo;
  #defaults: Part | null;
  #reading: Promise<Part[] | "end"> | null = null;

  constructor(stream: ReadableStream<Part>, model: ModelId, info: StepInfo) {
    this.#reader = stream.getReader();
    this.#info = info;
    this.#defaults = defaultsOf(model, info);
  }

  /** What comes next, or `due` at that time if nothing has come. */
  async next(due: number | null): Promise<readonly Part[] | "end" | "due"> {
    this.#reading ??= this.#read();
    const next = await (due === null ? this.#reading : soonest(this.#reading, due - Date.now()));
    if (next !== "due") this.#reading = null;
    return next;
  }

  leave(): void {
    this.#reader.cancel().catch(() => {});
  }

  async #read(): Promise<Part[] | "end"> {
    try {
      const { done, value } = await this.#reader.read();
      if (!done) return this.#taken(value);
      if (this.finish === null) this.#fail(new Error("The stream ended without its finish."), true);
    } catch (error) {
      this.failure ??= { error, told: false };
    }
    return "end";
  }

  #taken(given: Part): Part[] {
    const part =
      given.type === "error"
        ? { type: "error", error: keptError(given["error"]) }
        : withOwnId(plain(given) as Part, this.#info);
    if (part.type === "error") this.#fail(given["error"], true);
    if (part.type === "finish") {
      this.finish = part;
      const reason = reasonOf(part);
      if (reason === "error" || reason === "interrupted")
        this.#fail(new Error(`The provider ended the stream with "${reason}".`), true);
    }
    const defaults = this.#defaults;
    this.#defaults = null;
    if (defaults === null) return [part];
    return part.type === "stream-start" ? [part, defaults] : [defaults, part];
  }

  #fail(error: unknown, told: boolean): void {
    const message = (error as { message?: unknown } | null)?.message;
    const text = typeof message === "string" ? message : JSON.stringify(error);
    this.failure ??= { error: error instanceof Error ? error : new Error(text, { cause: error }), told };
  }
}

/** An object since version 6, a word before. */
function reasonOf({ finishReason }: Part): unknown {
  return (finishReason as { unified?: unknown } | undefined)?.unified ?? finishReason;
}

/** A number, with a word before it at most: the provider counts from the beginning in every answer. */
const counted = /^\D{0,16}\d{1,3}$/;

/** The SDK makes up an id where two answers have the same one, and another on every replay. */
function withOwnId(part: Part, { idempotencyKey }: StepInfo): Part {
  const { type, id } = part;
  const speaks = type.startsWith("text-") || type.startsWith("reasoning-");
  if (!speaks || typeof id !== "string" || !counted.test(id)) return part;
  return { ...part, id: `${id}-${idempotencyKey.slice(0, 8)}` };
}

/** Before what the provider says of its answer, which goes before this. */
function defaultsOf(model: ModelId, { idempotencyKey }: StepInfo): Part {
  return { type: "response-metadata", ...responseDefaults(model, idempotencyKey) };
}

async function soonest<T>(promise: Promise<T>, ms: number): Promise<T | "due"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const due = new Promise<"due">((resolve) => (timer = setTimeout(() => resolve("due"), Math.max(0, ms))));
  try {
    return await Promise.race([promise, due]);
  } finally {
    clearTimeout(timer);
  }
}
