/**
 * Streams of a language model: passed on while they come, recorded, and replayed.
 *
 * S1. A stream counts as a success only if it reached its `finish` without an error.
 * S2. A failure before the first content part is retried. After it the caller has got content: in a workflow
 *     the parts and the failure are recorded and replayed; in a journal nothing is kept.
 * S3. The stream is read to its end even if the caller stops reading. The caller's signal stops it.
 */

import type { StepInfo } from "@durable/core";
import { anySignal, type Call, type ModelId } from "./call.ts";
import { Packer, type Part, type PartChunk } from "./chunks.ts";
import { callFailure, final, keptError, restoredError } from "./errors.ts";
import { meter } from "./meter.ts";
import { breakType, headType, StreamOutput, type StreamResult } from "./stream-output.ts";
import { questionField } from "./on-change.ts";
import { plain } from "./plain-data.ts";
import type { Recorder } from "./recorder.ts";
import { keptResult, responseDefaults } from "./result.ts";

export type { StreamResult } from "./stream-output.ts";

type Open = (signal: AbortSignal) => PromiseLike<StreamResult>;

export function recordStream(recorder: Recorder, call: Call, open: Open): Promise<StreamResult> {
  const { name, signal, options } = call;
  const output = new StreamOutput(options.pace ?? "instant");
  const recording = new Recording(call, open, output, recorder.keepsFailures);
  const recorded = recorder.stream(name, (info) => recording.produce(info), {
    retry: options.retry,
    signal,
    call,
  });
  recorded.then(
    (chunks) => output.end(chunks),
    (error: unknown) => output.fail(restoredError(error), error === recording.broken),
  );
  return output.result;
}

class Recording {
  /** The error of a stream whose parts already report the failure. */
  broken: unknown = null;
  readonly #call: Call;
  readonly #open: Open;
  readonly #output: StreamOutput;
  readonly #keepsFailures: boolean;

  constructor(call: Call, open: Open, output: StreamOutput, keepsFailures: boolean) {
    this.#call = call;
    this.#open = open;
    this.#output = output;
    this.#keepsFailures = keepsFailures;
  }

  async *produce(info: StepInfo): AsyncGenerator<PartChunk, void, undefined> {
    const { signal, model } = this.#call;
    if (this.#output.shown)
      throw final(new Error("A stream cannot restart after its caller has received parts."));
    const startedAt = Date.now();
    const { stream, head } = await this.#opened(info);
    this.#output.begin(head);
    yield [0, head];
    const source = new Source(stream, model, info);
    if (this.#call.fed === true) source.feed(head);
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
      if (source.finish !== null) meter(info, model, { usage: {}, ...source.finish });
      if (source.failure === null) return;
      // The driver was stopped, so this is not an outcome.
      if (info.signal.aborted && signal?.aborted !== true) throw source.failure.error;
      yield* this.#failed(source.failure, Date.now() - startedAt);
    } finally {
      source.leave();
    }
  }

  async #opened(info: StepInfo): Promise<{ stream: ReadableStream<Part>; head: Part }> {
    try {
      const { stream, ...beside } = await this.#open(anySignal(info.signal, this.#call.signal));
      const asked = this.#call.hashed ? { [questionField]: this.#call.question() } : {};
      return { stream, head: { type: headType, ...keptResult(beside), ...asked } };
    } catch (error) {
      throw callFailure(error, this.#call.signal);
    }
  }

  *#failed({ error, reported }: Failure, at: number): Generator<PartChunk> {
    if (!this.#output.shown) throw callFailure(error, this.#call.signal);
    if (!this.#keepsFailures) {
      const thrown = final(keptError(error));
      if (reported) this.broken = thrown;
      throw thrown;
    }
    if (!reported) yield [at, { type: breakType, error: keptError(error) }];
  }
}

interface Failure {
  readonly error: unknown;
  /** The parts already report the failure. */
  readonly reported: boolean;
}

/** Reads a provider's stream part by part, and checks it. */
class Source {
  failure: Failure | null = null;
  finish: Part | null = null;
  readonly #reader: ReadableStreamDefaultReader<Part>;
  readonly #info: StepInfo;
  #defaults: Part | null;
  #lenient = false;
  #reading: Promise<Part[] | "end"> | null = null;

  constructor(stream: ReadableStream<Part>, model: ModelId, info: StepInfo) {
    this.#reader = stream.getReader();
    this.#info = info;
    this.#defaults = defaultsOf(model, info);
  }

  /** For models of speech: they tell time and model beside the stream, and may go on after an error. */
  feed({ response }: Part): void {
    this.#lenient = true;
    const { timestamp, modelId } = (response ?? {}) as Readonly<Record<"timestamp" | "modelId", unknown>>;
    const own = Object.entries({ timestamp, modelId }).filter(([, value]) => value !== undefined);
    this.#defaults = { type: "response-metadata", ...this.#defaults, ...Object.fromEntries(own) };
  }

  /** The next parts, or `due` if none come before that time. */
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
      if (this.finish === null) this.#fail(new Error("The stream ended without a finish part."), true);
    } catch (error) {
      this.failure ??= { error, reported: false };
    }
    return "end";
  }

  #taken(given: Part): Part[] {
    const part =
      given.type === "error"
        ? { type: "error", error: keptError(given["error"]) }
        : withOwnId(plain(given) as Part, this.#info);
    if (part.type === "error" && !this.#lenient) this.#fail(given["error"], true);
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

  #fail(error: unknown, reported: boolean): void {
    const message = (error as { message?: unknown } | null)?.message;
    const text = typeof message === "string" ? message : JSON.stringify(error);
    this.failure ??= { error: error instanceof Error ? error : new Error(text, { cause: error }), reported };
  }
}

/** An object since version 6, a string before. */
function reasonOf({ finishReason }: Part): unknown {
  return (finishReason as { unified?: unknown } | undefined)?.unified ?? finishReason;
}

/** A number, perhaps after a short word: the provider counts from the start in every response. */
const counted = /^\D{0,16}\d{1,3}$/;

/** Two responses with equal ids would make the SDK generate new ones, different on every replay. */
function withOwnId(part: Part, { idempotencyKey }: StepInfo): Part {
  const { type, id } = part;
  const speaks = type.startsWith("text-") || type.startsWith("reasoning-");
  if (!speaks || typeof id !== "string" || !counted.test(id)) return part;
  return { ...part, id: `${id}-${idempotencyKey.slice(0, 8)}` };
}

/** Defaults, which the provider's own metadata overrides. */
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
