/**
 * One viewer's connection: server-sent events of the UI message stream protocol. The id of an event is the place of the
 * viewer, which clients of the SDK ignore. Proven in test/chat.test.ts and test/chat-transport.test.ts.
 */

import { DurableError, type App, type StreamEvent } from "@durable/core";
import { unlessMissing } from "./turns.ts";
import { chatStreamName } from "./chat-stream.ts";
import { partsFor, type Sent, type ViewerOptions } from "./viewer.ts";
import type { Part, PartChunk } from "../chunks.ts";

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
};

/** A comment for clients that reconnect from a place: this viewer needs the whole message. */
const changed = ": changed\n\n";

export interface ConnectionOptions extends ViewerOptions {
  readonly runId: string;
  /** The latest attempt. */
  readonly attempt: number;
  readonly keepAliveMs: number;
  /** Some hosts provide none. */
  readonly client: AbortSignal | undefined;
}

export function streamOf(app: App, options: ConnectionOptions): Response {
  const connection = new Connection(app, options);
  return new Response(connection.body(), { headers: { ...headers, "x-durable-run-id": options.runId } });
}

type Next = Promise<IteratorResult<Sent, boolean>>;

class Connection {
  readonly #app: App;
  readonly #options: ConnectionOptions;
  readonly #abort = new AbortController();
  readonly #parts: AsyncGenerator<Sent, boolean, undefined>;
  readonly #text = new TextEncoder();
  #next: Next | null = null;

  constructor(app: App, options: ConnectionOptions) {
    this.#app = app;
    this.#options = options;
    const { runId, attempt } = options;
    const { signal } = this.#abort;
    const events = app.get(runId).stream<PartChunk>(chatStreamName, { attempt, signal });
    this.#parts = partsFor(events as AsyncIterable<StreamEvent<PartChunk>>, options);
    options.client?.addEventListener("abort", () => this.#abort.abort(), { once: true });
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
      // An aborted read ends like a complete one.
      if (!this.#abort.signal.aborted) send(result.value ? "data: [DONE]\n\n" : changed);
    } catch (error) {
      const last = lastPart(error);
      if (last !== null) send(`${lineOf({ part: last, id: null })}data: [DONE]\n\n`);
    }
    this.#abort.abort();
    controller.close();
  }

  /** The next part, or `null` when none came for a while. Then the run's driver may be dead. */
  async #within(): Promise<IteratorResult<Sent, boolean> | null> {
    this.#next ??= this.#parts.next();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const quiet = new Promise<null>(
      (resolve) => (timer = setTimeout(resolve, this.#options.keepAliveMs, null)),
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

  /** A viewer drives a run that has no driver; a run that has one, or waits, is left alone. */
  #drive(): void {
    void unlessMissing(this.#advance(), null).catch((error: unknown) =>
      this.#app.world.warn(`chat: run ${this.#options.runId} could not be advanced: ${String(error)}`),
    );
  }

  /** Driven again, a run that waits would only show its answer once more, in a new attempt. */
  async #advance(): Promise<void> {
    const { runId } = this.#options;
    const { state } = await this.#app.get(runId).outcome();
    if (state !== "waiting" && state !== "sleeping") await this.#app.advance(runId);
  }
}

/** The last part of a message whose run did not complete; `null` when reconnecting may help. */
function lastPart(error: unknown): Part | null {
  if (DurableError.is(error, "cancelled")) return { type: "abort" };
  const lasting = ["step-failed", "run-failed", "unknown-step"];
  if (!DurableError.is(error) || !lasting.includes(error.code)) return null;
  // The reason goes to the log, not to the user.
  return { type: "error", errorText: "The answer could not be completed." };
}

function lineOf({ part, id }: Sent): string {
  return `${id === null ? "" : `id: ${id}\n`}data: ${JSON.stringify(part)}\n\n`;
}
