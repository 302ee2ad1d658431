/**
 * What a chat's client sees, recorded by the run: every viewer reads it from the journal.
 *
 * L1. The workflow reads the UI stream, and a recorded stream copies it. Model calls and tools are therefore
 *     calls of the workflow, in its own order, and not of a request.
 * L2. A run that is resumed shows everything again from the beginning, in a new attempt.
 * L3. While the program has nothing to show, as when it waits for a person, its run may be parked and leave memory.
 * L4. A stream is one message: it begins with `start`, and all its `start` parts have one id. Between attempts the id may
 *     differ, if the program generates it; `message.ts` decides which one clients see.
 *
 * Proven in test/chat.test.ts and test/chat-message.test.ts.
 */

import type { Context, StepInfo } from "@durable/core";
import type { Rests } from "@durable/core/storage";
import { Packer, type Part, type PartChunk } from "../chunks.ts";
import { continuedMessage, type ChatInput } from "./asked.ts";

/** The name of that stream in its run. */
export const chatStreamName = "chat";

/** The delay of a viewer behind the model; the write takes about as long again. */
const shownAfterMs = 30;

/** A stream without parts for this long rests. A model that thinks longer is work of its own, for which the run stays. */
const restAfterMs = 1_000;

/**
 * Records what the client of a chat sees, until its end: `await chatStream(ctx, result.toUIMessageStream())`.
 */
export async function chatStream(ctx: Context, stream: ReadableStream<object>): Promise<void> {
  const queue = new PartQueue();
  const recorded = ctx.stream(chatStreamName, (info) => queue.chunks(info as StepInfo & Rests), {
    retry: false,
  });
  const reader = stream.getReader() as ReadableStreamDefaultReader<Part>;
  let id: string | null = null;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const { value } = next;
      const isStart = value.type === "start";
      if (id === null) {
        id = typeof value["messageId"] === "string" && isStart ? value["messageId"] : chatMessageId(ctx);
        // Without a start, every client would give the message an id of its own.
        if (!isStart) queue.push({ type: "start", messageId: id });
      }
      queue.push(isStart ? { ...value, messageId: id } : value);
    }
  } catch (error) {
    queue.push({ type: "error", errorText: "The answer could not be completed." });
    throw error;
  } finally {
    queue.end();
    await recorded;
  }
}

/**
 * The id of the message that a run writes, equal on replay: for `generateMessageId` of `toUIMessageStream`, when the
 * program saves its messages. With the input of the run, a turn that continues a message has the id of that message.
 */
export function chatMessageId(ctx: Pick<Context, "runId">, input?: ChatInput): string {
  const continued = continuedMessage(input);
  return continued === null ? `msg-${ctx.runId}` : (continued.id as string);
}

/** Passes parts from the reader of the stream to its recorder. */
class PartQueue {
  readonly #parts: { readonly part: Part; readonly at: number }[] = [];
  readonly #startedAt = Date.now();
  #over = false;
  #wake: () => void = () => {};

  push(part: Part): void {
    this.#parts.push({ part, at: Date.now() - this.#startedAt });
    this.#wake();
  }

  end(): void {
    this.#over = true;
    this.#wake();
  }

  async *chunks(info: Rests): AsyncGenerator<PartChunk, void, undefined> {
    const packer = new Packer(shownAfterMs);
    let next = 0;
    for (;;) {
      for (; next < this.#parts.length; next++) {
        const { part, at } = this.#parts[next] as { part: Part; at: number };
        yield* packer.take(part, at);
      }
      if (this.#over) return yield* packer.flush();
      if (await this.#within(packer.due === null ? restAfterMs : shownAfterMs)) continue;
      if (packer.due !== null) yield* packer.flush();
      else {
        const wake = info.rest();
        await this.#within(null);
        wake();
      }
    }
  }

  /** True when a part came in this time. */
  #within(ms: number | null): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = ms === null ? undefined : setTimeout(() => resolve(false), ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
