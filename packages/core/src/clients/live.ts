/**
 * Words that the code reads while they are recorded. For adapters, and for code that acts on a stream before its end.
 *
 * live.1. Nothing is given before the first word of an attempt, so a failure before it can be retried unnoticed.
 * live.2. After it, parts are given as they come, before they are durable. The end is held back until everything is durable, so
 *     that code acts only on recorded results.
 * live.3. Words that were given cannot be taken back: a failure after the first word is an outcome. It is recorded behind the parts, and a
 *     replay gives the same parts and the same failure.
 * live.4. The stream is recorded to its end, even if its reader leaves.
 * live.5. A reader gets every part before it gets the failure.
 */

import type { StepInfo } from "../engine/calls/info.ts";
import type { Chunks, StreamOptions } from "../engine/calls/stream.ts";
import type { Context } from "../engine/context.ts";
import { decode } from "../values/codec/decode.ts";
import { encode } from "../values/codec/encode.ts";
import { reduceThrown } from "../values/codec/thrown.ts";
import { DurableError, FatalError } from "../values/errors.ts";

/** How a stream ends for its reader. */
export interface LiveEnd {
  /** The failure; nothing when the stream came to its end. */
  readonly error?: unknown;
  /** Called when all parts are read, before the failure is given. */
  readonly before?: (() => void | Promise<void>) | undefined;
}

/** What is a word, and what belongs to the end. */
export interface LiveRules<T> {
  /** False for a part that a later attempt may replace; all parts are words by default. */
  readonly isWord?: ((part: T) => boolean) | undefined;
  /** True for the first part that is held back until everything is durable; none by default, so that only the close is. */
  readonly isEnd?: ((part: T) => boolean) | undefined;
}

/** The stream that a reader gets, and what the recording tells it. */
export class LiveWords<T> {
  /** What the code reads. */
  readonly stream: ReadableStream<T>;
  /** A word was given, so there can be no other attempt. */
  shown = false;
  /** How many parts were read. */
  taken = 0;
  readonly #rules: LiveRules<T>;
  /** Given, and not read yet. Kept here, because a stream drops unread parts when it fails. */
  #unread: T[] = [];
  /** Held back: parts before the first word, or the end. */
  #held: T[] = [];
  #ending = false;
  #over: LiveEnd | null = null;
  #wake: () => void = () => {};
  #left = false;

  constructor(rules: LiveRules<T> = {}) {
    this.#rules = rules;
    this.stream = new ReadableStream<T>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#leave() },
      { highWaterMark: 0 },
    );
  }

  /** The reader has left. */
  get left(): boolean {
    return this.#left;
  }

  /** Nothing is held back. */
  get isClear(): boolean {
    return this.#held.length === 0;
  }

  /** An attempt begins. */
  attempt(): void {
    this.#held = [];
    this.#unread = [];
    this.taken = 0;
  }

  /** A part came. */
  push(part: T): void {
    const { isWord, isEnd } = this.#rules;
    this.#ending ||= this.shown && isEnd?.(part) === true;
    if (this.shown ? this.#ending : isWord?.(part) === false || isEnd?.(part) === true)
      return void this.#held.push(part);
    this.shown = true;
    this.release();
    this.give(part);
  }

  /** Gives a part at once, whatever it is. */
  give(part: T): void {
    if (this.#left) return;
    this.#unread.push(part);
    this.#wake();
  }

  /** Gives what is held back. */
  release(): void {
    for (const held of this.#held.splice(0)) this.give(held);
  }

  /** Drops what is held back. */
  drop(): void {
    this.#held = [];
  }

  /** Everything is durable, or has failed: gives what is held back, and ends. */
  end(over: LiveEnd = {}): void {
    this.release();
    this.#over = over;
    this.#wake();
  }

  #pull(controller: ReadableStreamDefaultController<T>): void | Promise<void> {
    if (this.#left) return;
    if (this.#unread.length > 0) {
      const part = this.#unread.shift() as T;
      this.taken += 1;
      // Not at once, as no provider does: some readers fail when the next part is there already.
      return Promise.resolve().then(() => (this.#left ? undefined : controller.enqueue(part)));
    }
    const over = this.#over;
    if (over === null)
      return new Promise<void>((resolve) => (this.#wake = resolve)).then(() => this.#pull(controller));
    if (over.before === undefined) return finish(controller, over);
    return Promise.resolve(over.before()).then(() => finish(controller, over));
  }

  #leave(): void {
    this.#left = true;
    this.#unread = [];
  }
}

function finish<T>(controller: ReadableStreamDefaultController<T>, over: LiveEnd): void {
  if ("error" in over) controller.error(over.error);
  else controller.close();
}

/** Options of `liveStream`. */
export interface LiveOptions<T> extends Omit<StreamOptions, "timeout">, LiveRules<T> {}

/** Work whose output the code reads while it is recorded. */
export type LiveProducer<T> = (info: StepInfo) => Chunks<T> | Promise<Chunks<T>>;

/** The last recorded chunk of a stream that failed after its first word. */
const brokenType = "durable-broken";

interface Broken {
  readonly type: typeof brokenType;
  readonly error: unknown;
}

/**
 * A stream of the run, like `ctx.stream`, whose chunks the code gets as they come. `for await` ends when all of them are durable; a
 * replay gives the recorded ones at once. Code that acts on chunks before the end may see others after a crash, because the stream is
 * then asked again; what it did because of lost chunks is no longer part of the run.
 * @example for await (const event of liveStream(ctx, "ask", () => client.responses.create({ ...question, stream: true }))) show(event);
 */
export function liveStream<T>(
  ctx: Context,
  name: string,
  producer: LiveProducer<T>,
  options: LiveOptions<NoInfer<T>> = {},
): ReadableStream<T> & AsyncIterable<T> {
  const { isWord, isEnd, ...others } = options;
  const words = new LiveWords<T>({ isWord, isEnd });
  let isLive = false;
  const recorded = async function* (info: StepInfo): AsyncGenerator<T | Broken> {
    isLive = true;
    if (words.shown)
      throw new FatalError(`The stream "${info.key}" cannot restart after its words were read.`);
    words.attempt();
    try {
      for await (const chunk of await producer(info)) {
        words.push(asRecorded(chunk, name));
        yield chunk;
      }
    } catch (error) {
      // A stop of the driver is not an outcome, and before the first word there may be another attempt.
      if (!words.shown || info.signal.aborted) throw error;
      yield { type: brokenType, error: reduceThrown(error) };
    }
  };
  const stream = ctx.stream(name, recorded, { ...others, live: true } as StreamOptions);
  stream.then(
    (chunks) => {
      const last = chunks.at(-1);
      const parts = (isBroken(last) ? chunks.slice(0, -1) : chunks) as T[];
      if (!isLive) for (const part of parts) words.give(part);
      words.end(isBroken(last) ? { error: last.error } : {});
    },
    (error: unknown) => {
      // A replay has no attempt whose parts were held back.
      words.drop();
      words.end({ error: DurableError.is(error, "step-failed") ? error.cause : error });
    },
  );
  return words.stream as ReadableStream<T> & AsyncIterable<T>;
}

/** The first life gives what a replay will give. A text is the same in any case. */
function asRecorded<T>(chunk: T, name: string): T {
  return typeof chunk === "object" ? (decode(encode(chunk, name), name) as T) : chunk;
}

function isBroken(chunk: unknown): chunk is Broken {
  return typeof chunk === "object" && chunk !== null && (chunk as Partial<Broken>).type === brokenType;
}
