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

interface Over {
  readonly error?: unknown;
  readonly abort?: Abort | undefined;
}

export class StreamOutput {
  readonly result: Promise<StreamResult>;
  /** The caller has got content, so no retry is possible. */
  shown = false;
  /** The caller has its stream. */
  started = false;
  readonly #options: OutputOptions;
  readonly #stream: ReadableStream<Part>;
  #resolve!: (result: StreamResult) => void;
  #reject!: (error: unknown) => void;
  /** Emitted but not read yet. Kept here, because a stream drops unread parts when it fails. */
  #unread: Part[] = [];
  #over: Over | null = null;
  #wake: () => void = () => {};
  #left = false;
  /** Fields beside the stream. A later attempt overwrites them with its own. */
  #beside: Record<string, unknown> = {};
  /** An attempt was made in this process. */
  #live = false;
  #hasStart = false;
  /** Held back: parts before the first content, or the end. */
  #held: Part[] = [];
  #ending = false;
  #taken = 0;
  #takenAtAbort: number | null = null;
  /** How many parts a replay may emit. */
  #allowance = Number.POSITIVE_INFINITY;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#stream = new ReadableStream<Part>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#leave() },
      { highWaterMark: 0 },
    );
    const noted = (): void => void (this.#takenAtAbort = this.#taken);
    options.signal?.addEventListener("abort", noted, { once: true });
  }

  /** How many parts the caller had taken when it aborted. */
  get taken(): number {
    return this.#takenAtAbort ?? this.#taken;
  }

  /** An attempt begins. */
  attempt(): void {
    this.#live = true;
    this.#held = [];
    this.#unread = [];
    this.#taken = 0;
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
    if (part.type === "stream-start" && this.#hasStart) return void (this.#taken += 1);
    this.#hasStart ||= part.type === "stream-start";
    if (!this.shown && this.#held.length === 0 && early.has(part.type)) return this.#give(part);
    this.#ending ||= this.shown && (part.type === "finish" || part.type === "error");
    if (this.shown ? !this.#ending : isWord(part) && !this.#options.whole) return this.#show(part);
    this.#held.push(part);
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
    for (const chunk of rest) for (const part of partsOf(chunk)) this.#give(restoredPart(part));
    this.#close(chunks.at(-1));
  }

  /** The recording failed. `whole` means that all parts came and one of them reported the failure. */
  fail(error: unknown, whole: boolean): void {
    if (!this.started) return this.#reject(error);
    if (whole) return this.#close(undefined);
    this.#release();
    this.#end({ error });
  }

  #show(part: Part): void {
    this.shown = true;
    this.#release();
    this.#give(part);
  }

  #release(): void {
    for (const held of this.#held.splice(0)) this.#give(held);
  }

  #start(): void {
    if (this.started) return;
    this.started = true;
    this.#resolve(Object.assign(this.#beside, { stream: this.#stream }));
  }

  #give(part: Part): void {
    if (this.#left || part.type === breakType || this.#allowance === 0) return;
    this.#allowance -= 1;
    noteCalls([part]);
    this.#unread.push(part);
    this.#wake();
  }

  #close(last: PartChunk | undefined): void {
    const broken = breakOf(last);
    // After an abort, the parts that are still held back are dropped.
    if (broken?.abort !== undefined) this.#held = [];
    this.#release();
    this.#end(broken ?? {});
  }

  #end(over: Over): void {
    this.#over = over;
    this.#wake();
  }

  #pull(controller: ReadableStreamDefaultController<Part>): void | Promise<void> {
    if (this.#left) return;
    const part = this.#unread.shift();
    if (part !== undefined) {
      this.#taken += 1;
      // Not at once, as no provider does: stopStream of version 5 fails when the next part is there already.
      return Promise.resolve().then(() => (this.#left ? undefined : controller.enqueue(part)));
    }
    if (this.#over === null)
      return new Promise<void>((resolve) => (this.#wake = resolve)).then(() => this.#pull(controller));
    if (this.#over.abort !== undefined) return this.#abort(controller, this.#over.abort);
    if ("error" in this.#over) controller.error(this.#over.error);
    else controller.close();
  }

  async #abort(controller: ReadableStreamDefaultController<Part>, abort: Abort): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted === false) await new Promise((resolve) => setTimeout(resolve, ownAbortMs));
    abortAgain(signal, abort);
    controller.error(this.#over?.error);
  }

  #leave(): void {
    this.#left = true;
    this.#unread = [];
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
        if (this.#left) return;
        this.#give(restoredPart(part));
      }
    }
    this.#close(chunks.at(-1));
  }
}

function isWord({ type, delta }: Part): boolean {
  return !quiet.has(type) && delta !== "";
}

/** The interruption at the end of a recorded stream. */
function breakOf(last: PartChunk | undefined): Over | undefined {
  const part = last === undefined ? undefined : partsOf(last).at(-1);
  if (part?.type !== breakType) return undefined;
  return { error: restoredError(part["error"]), abort: part["abort"] as Abort | undefined };
}

function restoredPart(part: Part): Part {
  return part.type === "error" ? { ...part, error: restoredError(part["error"], false) } : part;
}
