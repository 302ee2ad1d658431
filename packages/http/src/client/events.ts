/**
 * The events of a stream, over as many connections as it takes.
 *
 * events.1. A connection that ends before the stream does is opened again right after the last event that was read.
 * events.2. Only the end that the server has recorded is an end.
 */

import type { StreamEvent } from "@durable/core";
import type { ReadOptions } from "@durable/core/types";
import { ClientError, type ClientErrorCode, type Requests } from "./requests.ts";

interface ServerEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: string;
}

export async function* streamEvents(
  requests: Requests,
  path: string,
  { signal, ...place }: ReadOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const query = new URLSearchParams(
    Object.entries(place).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
  // After the first event its id says the place.
  const chapter = new URLSearchParams(place.chapter === undefined ? {} : { chapter: String(place.chapter) });
  const patience = requests.patience;
  for (let last: string | null = null; ;) {
    const asked = last === null ? query : chapter;
    const headers = { accept: "text/event-stream", ...(last !== null && { "last-event-id": last }) };
    const response = await requests.send(`${path}${asked.size > 0 ? `?${asked}` : ""}`, { headers, signal });
    if (response.status === 204 || response.body === null) return;
    let broken: unknown = null;
    try {
      for await (const { event, id, data } of serverEvents(response.body, requests.quietMs)) {
        last = id ?? last;
        if (event === "end") return;
        if (event === "error") {
          const { code, message } = JSON.parse(data) as { code: ClientErrorCode; message: string };
          const error = new ClientError(code, message, { status: response.status });
          // With the id of the end it is final.
          if (id !== null) throw error;
          broken = error;
          break;
        }
        patience.renew();
        const [attempt = 1, index = 0] = (id ?? "").split(":").map(Number);
        if (event === "reset") yield { type: "reset", attempt };
        else if (event === "chunk")
          yield { type: "chunk", attempt, index, value: JSON.parse(data) as unknown };
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (ClientError.is(error)) throw error;
      broken = error;
    }
    if (!(await patience.wait(signal)))
      throw ClientError.is(broken)
        ? broken
        : new ClientError("unreachable", "The stream broke off, and could not be read on.", {
            cause: broken,
          });
  }
}

/** The events of a connection; throws when it was silent for `quietMs`, because it may be dead. */
async function* serverEvents(
  body: ReadableStream<Uint8Array>,
  quietMs: number,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), quietMs);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      // The last one is not complete.
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const fields = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line]));
        const field = (name: string): string | undefined => fields.get(name)?.slice(name.length + 2);
        const event = field("event");
        if (event !== undefined) yield { event, id: field("id") ?? null, data: field("data") ?? "{}" };
      }
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing came for ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
