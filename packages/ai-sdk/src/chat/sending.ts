/** One viewer's connection: server-sent events of the UI message stream protocol. */

import { DurableError, type App, type StreamEvent } from "@durable/core";
import { unlessMissing } from "./turns.ts";
import { chatStreamName } from "./log.ts";
import { partsFor, type OnReset } from "./viewer.ts";
import type { Part, PartChunk } from "../chunks.ts";

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
};

export interface Watched {
  readonly runId: string;
  /** The latest there is. */
  readonly attempt: number;
  readonly onReset: OnReset;
  readonly keepAliveMs: number;
  /** Not every host has one. */
  readonly client: AbortSignal | undefined;
}

export function streamOf(app: App, watched: Watched): Response {
  const sending = new Sending(app, watched);
  return new Response(sending.body(), { headers: { ...headers, "x-durable-run-id": watched.runId } });
}

type Next = Promise<IteratorResult<Part, boolean>>;

class Sending {
  readonly #app: App;
  readonly #watched: Watched;
  readonly #abort = new AbortController();
  readonly #parts: AsyncGenerator<Part, boolean, undefined>;
  readonly #text = new TextEncoder();
  #next: Next | null = null;

  constructor(app: App, watched: Watched) {
    this.#app = app;
    this.#watched = watched;
    const { runId, attempt } = watched;
    const { signal } = this.#abort;
    const events = app.get(runId).stream<PartChunk>(chatStreamName, { attempt, signal });
    this.#parts = partsFor(events as AsyncIterable<StreamEvent<PartChunk>>, watched.onReset);
    watched.client?.addEventListener("abort", () => this.#abort.abort(), { once: true });
    this.#drive();
  }

  body(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#abort.abort() },
      { highWaterMark: 0 },
    );
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const send = (text: string): void => controller.enqueue(this.#text.encode(text));
    try {
      const result = await this.#within();
      if (result === null) return send(": still here\n\n");
      if (result.done !== true) return send(lineOf(result.value));
      // A reading that was called off ends like one that is complete, and is not.
      if (result.value && !this.#abort.signal.aborted) send("data: [DONE]\n\n");
    } catch (error) {
      const last = lastWord(error);
      if (last !== null) send(`${lineOf(last)}data: [DONE]\n\n`);
    }
    this.#abort.abort();
    controller.close();
  }

  /** The next part, or `null` when there was none for a while: then the run's driver may be dead. */
  async #within(): Promise<IteratorResult<Part, boolean> | null> {
    this.#next ??= this.#parts.next();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const quiet = new Promise<null>(
      (resolve) => (timer = setTimeout(resolve, this.#watched.keepAliveMs, null)),
    );
    try {
      const result = await Promise.race([this.#next, quiet]);
      if (result === null) this.#drive();
      else this.#next = null;
      return result;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whoever watches a run that nobody drives drives it on; one that is driven is left alone. */
  #drive(): void {
    void unlessMissing(this.#app.advance(this.#watched.runId), null).catch((error: unknown) =>
      this.#app.world.warn(`chat: run ${this.#watched.runId} could not be driven on: ${String(error)}`),
    );
  }
}

/** How a message ends whose run did not come to its end; `null` when coming back may help. */
function lastWord(error: unknown): Part | null {
  if (DurableError.is(error, "cancelled")) return { type: "abort" };
  const lasting = ["step-failed", "run-failed", "unknown-step"];
  if (!DurableError.is(error) || !lasting.includes(error.code)) return null;
  // What went wrong is for logs, not for whoever chats.
  return { type: "error", errorText: "The answer could not be completed." };
}

function lineOf(part: Part): string {
  return `data: ${JSON.stringify(part)}\n\n`;
}
