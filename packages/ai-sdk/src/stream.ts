/**
 * Streams of a language model: passed on while they come, recorded, and replayed.
 *
 * S1. A stream counts as a success only if it reached its `finish` without an error.
 * S2. A failure before the first content part is retried. After it, and after the last attempt, the caller has got
 *     what came: in a workflow the parts and the failure are recorded and replayed; in a journal nothing is kept.
 * S3. The stream is read to its end even if the caller stops reading. The caller's signal stops it, and that is the
 *     outcome.
 * S4. The SDK hides a later turn that cannot be opened: its text is then that of the turn before. Such a failure stays
 *     marked as unseen, so that the run reports it when it ends.
 */

import type { StepInfo } from "@durable/core";
import { plain } from "@durable/core/clients";
import { abortAgain, orAborted } from "./abort.ts";
import { Attempts } from "./attempts.ts";
import { anySignal, type Call, type ModelId } from "./call.ts";
import { Packer, type Part, type PartChunk } from "./chunks.ts";
import { abortOf, callFailure, final, keptError, restoredError, shownError } from "./errors.ts";
import { meter } from "./meter.ts";
import { breakType, headType, StreamOutput, type StreamResult } from "./stream-output.ts";
import { recordedQuestion } from "./on-change.ts";
import { keepPrompt } from "./prompt.ts";
import type { Recorder } from "./recorder.ts";
import { keptResult, responseDefaults, withBodies } from "./result.ts";

export type { StreamResult } from "./stream-output.ts";

interface Opened {
  readonly stream: ReadableStream<Part>;
  readonly head: Part;
}

type Open = (signal: AbortSignal) => PromiseLike<StreamResult>;

export function recordStream(recorder: Recorder, call: Call, open: Open): Promise<StreamResult> {
  const { name, signal, options } = call;
  const { pace = "instant", retryAfterPartial = false, retry } = options;
  const output = new StreamOutput({ pace, whole: retryAfterPartial, signal });
  const recording = new Recording(call, open, output, recorder.keepsFailures);
  const recorded = recorder.stream(name, (info) => recording.produce(info), { retry, signal, call });
  recorded.then(
    (chunks) => output.end(chunks),
    (error: unknown) => {
      abortAgain(signal, abortOf(error));
      output.fail(restoredError(error), error === recording.broken);
    },
  );
  if (call.isLaterTurn) markUnseen(recorded);
  return output.result;
}

/**
 * Core reports failures that the program has not seen at the end of a run. Reading a failure here must not count as the
 * program having seen it.
 */
function markUnseen(promise: object): void {
  if ("observed" in promise) promise.observed = false;
}

class Recording {
  /** The error of a stream whose parts already report the failure. */
  broken: unknown = null;
  readonly #call: Call;
  readonly #open: Open;
  readonly #output: StreamOutput;
  readonly #keepsFailures: boolean;
  readonly #attempts: Attempts;

  constructor(call: Call, open: Open, output: StreamOutput, keepsFailures: boolean) {
    this.#call = call;
    this.#attempts = new Attempts(call, keepsFailures);
    this.#open = open;
    this.#output = output;
    this.#keepsFailures = keepsFailures;
  }

  async *produce(info: StepInfo): AsyncGenerator<PartChunk, void, undefined> {
    const { signal, model } = this.#call;
    if (this.#output.shown)
      throw final(new Error("A stream cannot restart after its caller has received parts."));
    this.#output.attempt();
    keepPrompt(info, this.#call);
    const startedAt = Date.now();
    const now = (): number => Date.now() - startedAt;
    const opened = yield* this.#opened(info);
    if (opened === null) return;
    const source = new Source(opened.stream, { model, info, signal });
    if (this.#call.fed === true) source.feed(opened.head);
    const packer = new Packer();
    try {
      for (;;) {
        const next = await source.next(packer.due === null ? null : startedAt + packer.due);
        if (next === "end") break;
        if (next === "due") yield* packer.flush();
        else
          for (const part of next) {
            this.#output.part(part.shown);
            yield* packer.take(part.kept, now());
          }
      }
      yield* packer.flush();
      if (source.finish !== null) meter(info, model, { usage: {}, ...source.finish });
      if (source.failure === null) return;
      // The driver was stopped, so this is not an outcome.
      if (info.signal.aborted) throw source.failure.error;
      yield* this.#failed(source.failure, now());
    } finally {
      source.leave();
    }
  }

  /** The provider's stream. `null`: it did not open, and the caller learns it from the stream that it has. */
  async *#opened(info: StepInfo): AsyncGenerator<PartChunk, Opened | null, undefined> {
    const { signal } = this.#call;
    try {
      const { stream, ...beside } = await this.#attempts.of(info.signal, () =>
        orAborted(this.#open(anySignal(info.signal, signal)), signal),
      );
      const kept = keptResult(beside);
      this.#output.begin(withBodies(kept, beside));
      const head = { type: headType, ...kept, ...recordedQuestion(this.#call, this.#keepsFailures) };
      yield [0, head];
      return { stream, head };
    } catch (error) {
      // An attempt before this one had opened a stream.
      const isKept = this.#keepsFailures && this.#output.started && !info.signal.aborted;
      if (!isKept || !(signal?.aborted === true || this.#attempts.exhausted)) throw error;
      yield [0, { type: headType }];
      yield this.#broken(restoredError(error), 0);
      return null;
    }
  }

  *#failed({ error, reported }: Failure, at: number): Generator<PartChunk> {
    const { signal } = this.#call;
    const aborted = signal?.aborted === true;
    if (!this.#keepsFailures) {
      if (!this.#output.shown) throw callFailure(error, signal);
      const thrown = final(keptError(error));
      if (reported) this.broken = thrown;
      throw thrown;
    }
    if (!aborted && !this.#output.shown && this.#attempts.next(error) !== null)
      throw callFailure(error, signal);
    if (aborted || !reported) yield this.#broken(aborted && reported ? signal.reason : error, at);
  }

  /** The end of a stream that broke off or was aborted. */
  #broken(error: unknown, at: number): PartChunk {
    const { signal } = this.#call;
    const broken = { type: breakType, error: keptError(error) };
    if (signal?.aborted !== true) return [at, broken];
    return [at, { ...broken, abort: { reason: keptError(signal.reason), taken: this.#output.taken } }];
  }
}

interface Failure {
  readonly error: unknown;
  /** The parts already report the failure. */
  readonly reported: boolean;
}

/** A part for the caller, and as it is recorded. */
interface Taken {
  readonly shown: Part;
  readonly kept: Part;
}

interface SourceOf {
  readonly model: ModelId;
  readonly info: StepInfo;
  readonly signal: AbortSignal | undefined;
}

/** Reads a provider's stream part by part, and checks it. */
class Source {
  failure: Failure | null = null;
  finish: Part | null = null;
  readonly #reader: ReadableStreamDefaultReader<Part>;
  readonly #info: StepInfo;
  readonly #signal: AbortSignal | undefined;
  #defaults: Part | null;
  #lenient = false;
  #reading: Promise<Taken[] | "end"> | null = null;

  constructor(stream: ReadableStream<Part>, { model, info, signal }: SourceOf) {
    this.#reader = stream.getReader();
    this.#info = info;
    this.#signal = signal;
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
  async next(due: number | null): Promise<readonly Taken[] | "end" | "due"> {
    this.#reading ??= this.#read();
    const next = await (due === null ? this.#reading : soonest(this.#reading, due - Date.now()));
    if (next !== "due") this.#reading = null;
    return next;
  }

  leave(): void {
    this.#reader.cancel().catch(() => {});
  }

  async #read(): Promise<Taken[] | "end"> {
    try {
      const { done, value } = await orAborted(this.#reader.read(), this.#signal);
      if (!done) return this.#taken(value);
      if (this.finish === null) this.#fail(new Error("The stream ended without a finish part."), true);
    } catch (error) {
      this.failure ??= { error, reported: false };
    }
    return "end";
  }

  #taken(given: Part): Taken[] {
    const part =
      given.type === "error"
        ? { type: "error", error: keptError(given["error"]) }
        : withOwnId(plain(given) as Part, this.#info);
    const shown = part.type === "error" ? { ...part, error: shownError(given["error"]) } : part;
    if (part.type === "error" && !this.#lenient) this.#fail(given["error"], true);
    if (part.type === "finish") {
      this.finish = part;
      const reason = reasonOf(part);
      if (reason === "error" || reason === "interrupted")
        this.#fail(new Error(`The provider ended the stream with "${reason}".`), true);
    }
    const defaults = this.#defaults;
    this.#defaults = null;
    const taken = { shown, kept: part };
    if (defaults === null) return [taken];
    const before = { shown: defaults, kept: defaults };
    return part.type === "stream-start" ? [taken, before] : [before, taken];
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
