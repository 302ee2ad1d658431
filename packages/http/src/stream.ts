/**
 * A run's stream as server-sent events, from any position.
 *
 * S1. `id: <attempt>:<index>` names the last event; sent back as `Last-Event-ID`, the stream continues right
 *     after it. A reset has the id `<attempt>:-1`, the end `<attempt>:end`; after the end the reply is 204.
 * S2. `event: end` is sent only for a recorded end. A connection that ends without it was cut.
 * S3. Events are read from the journal as the client takes them, so a slow client costs no memory.
 */

import { DurableError, type Run, type StreamEvent } from "@durable/core";
import { HttpError, safeHeaders } from "./errors.ts";
import { type Call, refuse, type Service } from "./options.ts";
import { queryOf, runIdOf, wholeIn } from "./request-fields.ts";
import { toJson } from "./to-json.ts";

type Events = AsyncGenerator<StreamEvent, void, undefined>;
type Next = Promise<IteratorResult<StreamEvent, void>>;
type Place = { readonly attempt: number; readonly from: number; readonly chapter?: number | undefined };

const headers = { ...safeHeaders, "content-type": "text/event-stream", "x-accel-buffering": "no" };
const most = Number.MAX_SAFE_INTEGER;

export async function streamRun(service: Service, { request, url, params }: Call): Promise<Response> {
  const runId = runIdOf(params["runId"]);
  const place = placeOf(request, url);
  const no = await refuse(service, request, { type: "stream", runId });
  if (no !== null) return no;
  if (place === null) return new Response(null, { status: 204, headers: safeHeaders });
  const run = service.app.get(runId);
  const over = await isOver(run);
  if (request.method === "HEAD") return new Response(null, { headers });
  const { streams, limits } = service;
  if (streams.open >= limits.streams)
    throw new HttpError(
      "too-many-streams",
      `More than ${limits.streams} streams are open. Try again later.`,
      {
        headers: { "retry-after": "5" },
      },
    );
  const abort = new AbortController();
  const events = run.stream(params["name"] as string, { ...place, signal: abort.signal });
  const first = events.next();
  // For a run that has ended it is known at once whether the stream exists.
  if (over) await first.catch(rethrowUnknown);
  return new Response(new Sending(service, { events, first, place, abort, client: request.signal }).body(), {
    headers,
  });
}

/** Where to start; `null` after the end. */
function placeOf(request: Request, url: URL): Place | null {
  const query = queryOf(url, ["from", "attempt", "chapter"]);
  const chapter = wholeIn(query, "chapter", [1, most]);
  const last = request.headers.get("last-event-id");
  if (last === null || last === "") {
    return {
      attempt: wholeIn(query, "attempt", [1, most]) ?? 1,
      from: wholeIn(query, "from", [0, most]) ?? 0,
      chapter,
    };
  }
  const found = /^([1-9]\d{0,14}):(end|-1|\d{1,15})$/.exec(last);
  if (found === null) throw new HttpError("invalid-query", "Last-Event-ID is not an id of this stream.");
  return found[2] === "end" ? null : { attempt: Number(found[1]), from: Number(found[2]) + 1, chapter };
}

/** True when nothing more can be recorded; rejects for an unknown run. */
async function isOver(run: Run): Promise<boolean> {
  try {
    return ["completed", "failed", "cancelled"].includes((await run.outcome()).status);
  } catch (error) {
    // Tokens need a secret, streams do not.
    if (DurableError.is(error, "no-secret")) return false;
    throw error;
  }
}

function rethrowUnknown(error: unknown): void {
  if (DurableError.is(error, "unknown-step")) throw error;
}

interface SendingParts {
  readonly events: Events;
  readonly first: Next;
  readonly place: Place;
  readonly abort: AbortController;
  /** Some hosts provide none. */
  readonly client: AbortSignal | undefined;
}

class Sending {
  readonly #service: Service;
  readonly #parts: SendingParts;
  readonly #text = new TextEncoder();
  #next: Next;
  #attempt: number;
  #over = false;

  constructor(service: Service, parts: SendingParts) {
    this.#service = service;
    this.#parts = parts;
    this.#next = parts.first;
    this.#attempt = parts.place.attempt;
    // It may fail before it is read.
    parts.first.catch(() => {});
    service.streams.open += 1;
    if (parts.client?.aborted === true) this.#stop();
    else parts.client?.addEventListener("abort", this.#stop, { once: true });
  }

  body(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#stop() },
      { highWaterMark: 0 },
    );
  }

  readonly #stop = (): void => {
    if (this.#over) return;
    this.#over = true;
    this.#service.streams.open -= 1;
    this.#parts.client?.removeEventListener("abort", this.#stop);
    this.#parts.abort.abort();
  };

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const send = (text: string): void => controller.enqueue(this.#text.encode(text));
    try {
      const result = await this.#within(this.#service.keepAliveMs);
      // An aborted read ends like a complete one, but must not be reported as such.
      if (this.#over) return controller.close();
      if (result === null) return send(": still here\n\n");
      if (result.done !== true) {
        send(this.#eventText(result.value));
        this.#next = this.#parts.events.next();
        this.#next.catch(() => {});
        return;
      }
      send(eventText("end", `${this.#attempt}:end`, {}));
    } catch (error) {
      if (!this.#over) send(this.#errorText(error));
    }
    this.#stop();
    controller.close();
  }

  #eventText(event: StreamEvent): string {
    const { type, attempt } = event;
    this.#attempt = attempt;
    return type === "reset"
      ? eventText("reset", `${attempt}:-1`, { attempt })
      : eventText("chunk", `${attempt}:${event.index}`, toJson(event.value));
  }

  /** With the id of the end if a retry would give the same. */
  #errorText(error: unknown): string {
    if (DurableError.is(error) && lasting.has(error.code)) {
      const { code, message } = error;
      return eventText("error", `${this.#attempt}:end`, { code, message });
    }
    this.#service.onError(error);
    const code = DurableError.is(error) ? error.code : "internal";
    return eventText("error", null, { code, message: "The stream was interrupted. Connect again." });
  }

  /** The next event, or `null` when none comes in this time. */
  async #within(ms: number): Promise<IteratorResult<StreamEvent, void> | null> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const quiet = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, ms, null);
    });
    try {
      return await Promise.race([this.#next, quiet]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Errors that end a stream for good. */
const lasting: ReadonlySet<string> = new Set([
  "step-failed",
  "run-failed",
  "uncompensated",
  "cancelled",
  "unknown-step",
]);

function eventText(event: string, id: string | null, data: unknown): string {
  return `${id === null ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
