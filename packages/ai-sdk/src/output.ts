/**
 * What the caller of a recorded stream is given.
 *
 * O1. Nothing is given before the first word: until then a failed attempt is followed by another, unseen.
 * O2. Then parts are given as they come, before they are durable.
 * O3. The end, from `finish` on, is withheld until all of it is durable: what acts on an answer acts on a recorded one.
 * O4. A caller that leaves stops nobody.
 */

import { gatherMs, partsOf, type Part, type PartChunk } from "./chunks.ts";
import { restoredError } from "./errors.ts";

export interface StreamResult {
  readonly stream: ReadableStream<Part>;
  readonly response?: unknown;
}

/** Records of our own among the parts: what came beside the stream, and how it broke. */
export const headType = "durable-head";
export const breakType = "durable-break";

/** Parts that are no word of the answer yet. */
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

export class Output {
  readonly result: Promise<StreamResult>;
  /** The caller has seen a part: there is no going back. */
  shown = false;
  readonly #pace: "instant" | "recorded";
  readonly #stream: ReadableStream<Part>;
  #resolve!: (result: StreamResult) => void;
  #reject!: (error: unknown) => void;
  /** Given, and not read yet. Kept here: a stream forgets what is unread when it fails. */
  #unread: Part[] = [];
  #over: { readonly error?: unknown } | null = null;
  #wake: () => void = () => {};
  #left = false;
  #head: Part = { type: headType };
  /** Not given yet: from before the first word, or from the end. */
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

  /** An attempt was answered. */
  begin(head: Part): void {
    this.#head = head;
    this.#held = [];
  }

  part(part: Part): void {
    this.#ending ||= this.shown && part.type === "finish";
    if (this.shown ? !this.#ending : isWord(part)) return this.#show(part);
    this.#held.push(part);
  }

  /** All of it is durable. */
  end(chunks: readonly PartChunk[]): void {
    if (this.shown) return this.#close(chunks.at(-1));
    const [first, ...others] = chunks;
    const head = first === undefined ? undefined : partsOf(first)[0];
    // There is none where a fork has put parts of its own.
    const rest = head?.type === headType ? others : chunks;
    if (head?.type === headType) this.#head = head;
    this.#start();
    if (this.#pace === "recorded") return void this.#paced(rest);
    for (const chunk of rest) for (const part of partsOf(chunk)) this.#give(part);
    this.#close(chunks.at(-1));
  }

  /** It failed. `whole` says that all parts came, and told so themselves. */
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
    const { type: _, ...about } = this.#head;
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

  /** As fast as it came the first time. */
  async #paced(chunks: readonly PartChunk[]): Promise<void> {
    const startedAt = Date.now();
    for (const chunk of chunks) {
      const parts = partsOf(chunk);
      for (const [index, part] of parts.entries()) {
        // Deltas of one chunk came within this time, one by one.
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
