/**
 * Server-sent events as a response. Proven in test/stream.test.ts.
 *
 * sse.1. Texts are made as the client takes them, one ahead, so a slow client costs no memory.
 * sse.2. When the client leaves, `abort` is called, and nothing more is sent: what an aborted source says last
 *     is not true.
 * sse.3. A scope has at most its share of the streams, so that one tenant leaves some to the others.
 */

import { HttpError, safeHeaders } from "./errors.ts";
import { within } from "./within.ts";

export const eventHeaders: Readonly<Record<string, string>> = {
  ...safeHeaders,
  "content-type": "text/event-stream",
  "x-accel-buffering": "no",
};

/** How many streams are open: of all, and of each scope. */
export class StreamSlots {
  open = 0;
  readonly #byScope = new Map<string, number>();

  of(scope: string): number {
    return this.#byScope.get(scope) ?? 0;
  }

  count(scope: string | undefined, change: 1 | -1): void {
    this.open += change;
    if (scope === undefined) return;
    const now = this.of(scope) + change;
    if (now === 0) this.#byScope.delete(scope);
    else this.#byScope.set(scope, now);
  }
}

interface EventStreamOptions {
  /** Counts this stream as long as it is open. */
  readonly slots: StreamSlots;
  /** Whose stream it is. */
  readonly scope: string | undefined;
  /** Milliseconds between the comments that keep an idle stream open. */
  readonly keepAliveMs: number;
  /** Ends the source. */
  readonly abort: AbortController;
  /** The signal of the request. Some hosts provide none. */
  readonly client: AbortSignal | undefined;
}

/** Refuses one more stream than there may be, of all or of this scope. */
export function assertFree(
  slots: StreamSlots,
  most: { readonly streams: number; readonly streamsPerScope: number },
  scope: string | undefined,
): void {
  const isOwn = scope !== undefined && slots.of(scope) >= most.streamsPerScope;
  if (!isOwn && slots.open < most.streams) return;
  const text = isOwn
    ? `More than ${most.streamsPerScope} of your streams are open. Close one of them.`
    : `More than ${most.streams} streams are open. Try again later.`;
  throw new HttpError("too-many-streams", text, { headers: { "retry-after": "5" } });
}

/** One event as text. */
export function eventText(event: string, data: unknown, id: string | null = null): string {
  return `${id === null ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Sends texts of events until their source or the client ends. The source must not throw. */
export function eventStream(
  texts: AsyncGenerator<string, void>,
  { slots, scope, keepAliveMs, abort, client }: EventStreamOptions,
): Response {
  const encoder = new TextEncoder();
  let over = false;
  const stop = (): void => {
    if (over) return;
    over = true;
    slots.count(scope, -1);
    client?.removeEventListener("abort", stop);
    abort.abort();
    void texts.return().catch(() => {});
  };
  slots.count(scope, 1);
  if (client?.aborted === true) stop();
  else client?.addEventListener("abort", stop, { once: true });
  let next = texts.next();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    const result = await within(next, keepAliveMs);
    if (over || result?.done === true) {
      stop();
      return controller.close();
    }
    if (result !== null) next = texts.next();
    controller.enqueue(encoder.encode(result?.value ?? ": still here\n\n"));
  };
  const body = new ReadableStream<Uint8Array>({ pull, cancel: stop }, { highWaterMark: 0 });
  return new Response(body, { headers: eventHeaders });
}
