/**
 * What a chat's client is shown, recorded by the run itself: whoever watches reads it from the journal.
 *
 * L1. The workflow reads the UI stream, and a recorded stream takes down what it reads. So model turns and tools are
 *     calls of the workflow, made in its own order, and not of somebody's request.
 * L2. A run that is taken up again shows everything again from the beginning, under a new attempt.
 */

import type { Context } from "@durable/core";
import { Packer, type Part, type PartChunk } from "../chunks.ts";

/** The name of that stream in its run. */
export const chatStreamName = "chat";

/** A viewer is so much behind the model, and as much again until what came is written. */
const shownAfterMs = 30;

/**
 * Records what the client of a chat sees, until its end: `await chatStream(ctx, result.toUIMessageStream())`.
 */
export async function chatStream(ctx: Context, stream: ReadableStream<object>): Promise<void> {
  const log = new Log();
  const recorded = ctx.stream(chatStreamName, () => log.chunks(), { retry: false });
  const reader = stream.getReader() as ReadableStreamDefaultReader<Part>;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const { value } = next;
      // Equal on replay, and on every reconnect: a client knows the message again.
      log.push(value.type === "start" ? { messageId: `msg-${ctx.runId}`, ...value } : value);
    }
  } catch (error) {
    log.push({ type: "error", errorText: "The answer could not be completed." });
    throw error;
  } finally {
    log.end();
    await recorded;
  }
}

/** Between who reads the stream and who records it. */
class Log {
  readonly #parts: { readonly part: Part; readonly at: number }[] = [];
  readonly #startedAt = Date.now();
  #over = false;
  #ring: () => void = () => {};

  push(part: Part): void {
    this.#parts.push({ part, at: Date.now() - this.#startedAt });
    this.#ring();
  }

  end(): void {
    this.#over = true;
    this.#ring();
  }

  async *chunks(): AsyncGenerator<PartChunk, void, undefined> {
    const packer = new Packer(shownAfterMs);
    let next = 0;
    for (;;) {
      for (; next < this.#parts.length; next++) {
        const { part, at } = this.#parts[next] as { part: Part; at: number };
        yield* packer.take(part, at);
      }
      if (this.#over) return yield* packer.flush();
      const heard = await this.#within(packer.due === null ? null : shownAfterMs);
      if (!heard) yield* packer.flush();
    }
  }

  /** True when something came in this time. */
  #within(ms: number | null): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = ms === null ? undefined : setTimeout(() => resolve(false), ms);
      this.#ring = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
