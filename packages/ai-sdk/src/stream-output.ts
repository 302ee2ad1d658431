/**
 * The stream that the caller of a recorded stream gets.
 *
 * O1. Nothing is emitted before the first content part, so that a failed attempt before it can be retried
 *     unnoticed.
 * O2. After that, parts are emitted as they come, before they are durable.
 * O3. The end, from `finish` on, is held back until everything is durable, so that code acts only on recorded
 *     results.
 * O4. A caller that stops reading does not stop the recording.
 *
 * Proven in test/stream.test.ts.
 */

import { gatherMs, partsOf, type Part, type PartChunk } from "./chunks.ts";
import { restoredError } from "./errors.ts";
import { questionField } from "./on-change.ts";

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

export class StreamOutput {
  readonly result: Promise<StreamResult>;
  /** The caller has got a part, so no retry is possible. */
  shown = false;
  readonly #pace: "instant" | "recorded";
  readonly #stream: ReadableStream<Part>;
  #resolve!: (result: StreamResult) => void;
  #reject!: (error: unknown) => void;
  /** Emitted but not read yet. Kept here, because a stream drops unread parts when it fails. */
  #unread: Part[] = [];
  #over: { readonly error?: unknown } | null = null;
  #wake: () => void = () => {};
  #left = false;
  #head: Part = { type: headType };
  /** Held back: parts before the first content, or the end. */
  #held: Part[] = [];
  #ending = false;

  constructor(pace: "instant" | "recorded") {
    this.#pace = pace;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#stream = new ReadableStream<Part>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#leave() },
      { highWaterMark: 0 },
    );
  }

  /** An attempt got its response. */
  begin(head: Part): void {
    this.#head = head;
    this.#held = [];
  }

  part(part: Part): void {
    this.#ending ||= this.shown && part.type === "finish";
    if (this.shown ? !this.#ending : isWord(part)) return this.#show(part);
    this.#held.push(part);
  }

  /** Everything is durable. */
  end(chunks: readonly PartChunk[]): void {
    if (this.shown) return this.#close(chunks.at(-1));
    const [first, ...others] = chunks;
    const head = first === undefined ? undefined : partsOf(first)[0];
    // A fork with edited parts has no head.
    const rest = head?.type === headType ? others : chunks;
    if (head?.type === headType) this.#head = head;
    this.#start();
    if (this.#pace === "recorded") return void this.#paced(rest);
    for (const chunk of rest) for (const part of partsOf(chunk)) this.#give(part);
    this.#close(chunks.at(-1));
  }

  /** The recording failed. `whole` means that all parts came and one of them reported the failure. */
  fail(error: unknown, whole: boolean): void {
    if (!this.shown) return this.#reject(error);
    if (whole) return this.#close(undefined);
    this.#end({ error });
  }

  #show(part: Part): void {
    if (!this.shown) this.#start();
    this.shown = true;
    for (const held of this.#held.splice(0)) this.#give(held);
    this.#give(part);
  }

  #start(): void {
    const { type: _, [questionField]: __, ...about } = this.#head;
    this.#resolve({ ...about, stream: this.#stream });
  }

  #give(part: Part): void {
    if (this.#left || part.type === breakType) return;
    this.#unread.push(part);
    this.#wake();
  }

  #close(last: PartChunk | undefined): void {
    for (const held of this.#held.splice(0)) this.#give(held);
    const part = last === undefined ? undefined : partsOf(last).at(-1);
    this.#end(part?.type === breakType ? { error: restoredError(part["error"]) } : {});
  }

  #end(over: { readonly error?: unknown }): void {
    this.#over = over;
    this.#wake();
  }

  #pull(controller: ReadableStreamDefaultController<Part>): void | Promise<void> {
    if (this.#left) return;
    const part = this.#unread.shift();
    if (part !== undefined) return controller.enqueue(part);
    if (this.#over === null)
      return new Promise<void>((resolve) => (this.#wake = resolve)).then(() => this.#pull(controller));
    if ("error" in this.#over) controller.error(this.#over.error);
    else controller.close();
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
        this.#give(part);
      }
    }
    this.#close(chunks.at(-1));
  }
}

function isWord({ type, delta }: Part): boolean {
  return !quiet.has(type) && delta !== "";
}
