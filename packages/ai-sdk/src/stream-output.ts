/**
 * The stream that the caller of a recorded stream gets.
 *
 * O1. The caller gets its stream when the provider has opened one, because the SDK's time-outs begin then. Before the
 *     first content part it gets `stream-start` once and the metadata of the response, which a later attempt replaces,
 *     and nothing else: a failed attempt can be retried unnoticed.
 * O2. After that, parts are emitted as they come, before they are durable; with `whole`, when all are durable.
 * O3. The end, from `finish` or an error part on, is held back until everything is durable, so that code acts only on
 *     recorded results.
 * O4. A caller that stops reading does not stop the recording.
 * O5. A replay of an aborted stream gives the parts that were taken before the abort, and then aborts the caller's
 *     signal.
 *
 * Proven in test/stream.test.ts and test/differential.
 */

import { LiveWords } from "@durable/core/clients";
import { abortAgain } from "./abort.ts";
import { gatherMs, partsOf, type Part, type PartChunk } from "./chunks.ts";
import { restoredError } from "./errors.ts";
import { questionField } from "./on-change.ts";
import { noteCalls } from "./traps.ts";

export interface StreamResult {
  readonly stream: ReadableStream<Part>;
  readonly response?: unknown;
}

/** Part types of this library among the recorded parts: the fields beside the stream, and an interruption. */
export const headType = "durable-head";
export const breakType = "durable-break";

/** Parts before the first content. */
const quiet: ReadonlySet<string> = new Set([
  "stream-start",
  "response-metadata",
  "text-start",
  "reasoning-start",
  "raw",
  "ping",
  "error",
  "finish",
]);

/** Parts that can be given before it is known whether the attempt comes to anything. */
const early: ReadonlySet<string> = new Set(["stream-start", "response-metadata"]);

/** How long a replay waits for the program to abort by itself, as it did when the stream was recorded. */
const ownAbortMs = 20;

export interface OutputOptions {
  readonly pace: "instant" | "recorded";
  /** Nothing is emitted before everything is durable. */
  readonly whole: boolean;
  /** The caller's signal. */
  readonly signal: AbortSignal | undefined;
}

/** The abort of the caller that ended a stream. */
interface Abort {
  readonly reason: unknown;
  /** How many parts the caller had taken. */
  readonly taken: number;
}

/** An interruption at the end of a recorded stream. */
interface Broken {
  readonly error: unknown;
  readonly abort: Abort | undefined;
}

export class StreamOutput {
  readonly result: Promise<StreamResult>;
  /** The caller has its stream. */
  started = false;
  readonly #options: OutputOptions;
  readonly #words: LiveWords<Part>;
  #resolve!: (result: StreamResult) => void;
  #reject!: (error: unknown) => void;
  /** Fields beside the stream. A later attempt overwrites them with its own. */
  #beside: Record<string, unknown> = {};
  /** An attempt was made in this process. */
  #live = false;
  #hasStart = false;
  #takenAtAbort: number | null = null;
  /** How many parts a replay may emit. */
  #allowance = Number.POSITIVE_INFINITY;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#words = new LiveWords<Part>({
      isWord: (part) => isWord(part) && !options.whole,
      isEnd: ({ type }) => type === "finish" || type === "error",
    });
    const noted = (): void => void (this.#takenAtAbort = this.#words.taken);
    options.signal?.addEventListener("abort", noted, { once: true });
  }

  /** The caller has got content, so no retry is possible. */
  get shown(): boolean {
    return this.#words.shown;
  }

  /** How many parts the caller had taken when it aborted. */
  get taken(): number {
    return this.#takenAtAbort ?? this.#words.taken;
  }

  /** An attempt begins. */
  attempt(): void {
    this.#live = true;
    this.#words.attempt();
  }

  /** An attempt got its response. */
  begin(beside: Readonly<Record<string, unknown>>): void {
    const { response } = this.#beside;
    // The SDK keeps the response that it got, so that of a later attempt is written into it.
    if (typeof response === "object" && response !== null) Object.assign(response, beside["response"]);
    else Object.assign(this.#beside, beside);
    this.#start();
  }

  part(part: Part): void {
    const words = this.#words;
    if (part.type === "stream-start" && this.#hasStart) return void (words.taken += 1);
    this.#hasStart ||= part.type === "stream-start";
    noteCalls([part]);
    if (!words.shown && words.isClear && early.has(part.type)) words.give(part);
    else words.push(part);
  }

  /** Everything is durable. */
  end(chunks: readonly PartChunk[]): void {
    if (this.#live) return this.#close(chunks.at(-1));
    const [first, ...others] = chunks;
    const head = first === undefined ? undefined : partsOf(first)[0];
    // A fork with edited parts has no head.
    const rest = head?.type === headType ? others : chunks;
    if (head?.type === headType) {
      const { type: _, [questionField]: __, ...beside } = head;
      this.#beside = beside;
    }
    this.#allowance = breakOf(chunks.at(-1))?.abort?.taken ?? Number.POSITIVE_INFINITY;
    this.#start();
    if (this.#options.pace === "recorded") return void this.#paced(rest);
    for (const chunk of rest) for (const part of partsOf(chunk)) this.#replayed(part);
    this.#close(chunks.at(-1));
  }

  /** The recording failed. `whole` means that all parts came and one of them reported the failure. */
  fail(error: unknown, whole: boolean): void {
    if (!this.started) this.#reject(error);
    else this.#words.end(whole ? {} : { error });
  }

  #start(): void {
    if (this.started) return;
    this.started = true;
    this.#resolve(Object.assign(this.#beside, { stream: this.#words.stream }));
  }

  #replayed(part: Part): void {
    if (part.type === breakType || this.#allowance === 0) return;
    this.#allowance -= 1;
    const restored = restoredPart(part);
    noteCalls([restored]);
    this.#words.give(restored);
  }

  #close(last: PartChunk | undefined): void {
    const broken = breakOf(last);
    if (broken === undefined) return this.#words.end();
    const { error, abort } = broken;
    if (abort === undefined) return this.#words.end({ error });
    // After an abort, the parts that are still held back are dropped.
    this.#words.drop();
    this.#words.end({ error, before: () => this.#abort(abort) });
  }

  async #abort(abort: Abort): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted === false) await new Promise((resolve) => setTimeout(resolve, ownAbortMs));
    abortAgain(signal, abort);
  }

  /** Replays at the recorded pace. */
  async #paced(chunks: readonly PartChunk[]): Promise<void> {
    const startedAt = Date.now();
    for (const chunk of chunks) {
      const parts = partsOf(chunk);
      for (const [index, part] of parts.entries()) {
        // The deltas of one chunk came within this time, one by one.
        const at = startedAt + (chunk[0] ?? 0) + (index * gatherMs) / parts.length;
        const wait = at - Date.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
        if (this.#words.left) return;
        this.#replayed(part);
      }
    }
    this.#close(chunks.at(-1));
  }
}

function isWord({ type, delta }: Part): boolean {
  return !quiet.has(type) && delta !== "";
}

/** The interruption at the end of a recorded stream. */
function breakOf(last: PartChunk | undefined): Broken | undefined {
  const part = last === undefined ? undefined : partsOf(last).at(-1);
  if (part?.type !== breakType) return undefined;
  return { error: restoredError(part["error"]), abort: part["abort"] as Abort | undefined };
}

function restoredPart(part: Part): Part {
  return part.type === "error" ? { ...part, error: restoredError(part["error"], false) } : part;
}
