/**
 * A run's stream as server-sent events, from any position.
 *
 * S1. `id: <attempt>:<index>` names the last event; sent back as `Last-Event-ID`, the stream continues right
 *     after it. A reset has the id `<attempt>:-1`, the end `<attempt>:end`; after the end the reply is 204.
 * S2. `event: end` is sent only for a recorded end. A connection that ends without it was cut.
 * S3. Events are read from the journal as the client takes them, at most one ahead.
 */

import { DurableError, type Run, type StreamEvent } from "@durable/core";
import { HttpError, safeHeaders } from "./errors.ts";
import { assertFree, eventHeaders, eventStream, eventText } from "./event-stream.ts";
import type { Service } from "./options.ts";
import { queryOf, wholeIn } from "./request-fields.ts";
import type { Call } from "./router.ts";
import { toJson } from "./to-json.ts";

type Events = AsyncGenerator<StreamEvent, void, undefined>;
type Next = Promise<IteratorResult<StreamEvent, void>>;
type Place = { readonly attempt: number; readonly from: number; readonly chapter?: number | undefined };

const most = Number.MAX_SAFE_INTEGER;

export async function streamRun(
  service: Service,
  { request, url, runId, params, scope }: Call,
): Promise<Response> {
  const place = placeOf(request, url);
  if (place === null) return new Response(null, { status: 204, headers: safeHeaders });
  const run = service.app.get(runId);
  const over = await isOver(run);
  if (request.method === "HEAD") return new Response(null, { headers: eventHeaders });
  const { streams: slots, keepAliveMs } = service;
  assertFree(slots, service.limits, scope);
  const abort = new AbortController();
  const events = run.stream(params["name"] as string, { ...place, signal: abort.signal });
  const first = events.next();
  // For a run that has ended it is known at once whether the stream exists.
  if (over) await first.catch(rethrowUnknown);
  // It may fail before it is read.
  first.catch(() => {});
  const texts = textsOf(service, { events, first, attempt: place.attempt, signal: abort.signal });
  return eventStream(texts, { slots, scope, keepAliveMs, abort, client: request.signal });
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

interface Source {
  readonly events: Events;
  readonly first: Next;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

async function* textsOf(
  { onError }: Service,
  { events, first, attempt, signal }: Source,
): AsyncGenerator<string, void> {
  let last = attempt;
  try {
    for (let next = await first; next.done !== true; next = await events.next()) {
      const event = next.value;
      last = event.attempt;
      yield event.type === "reset"
        ? eventText("reset", { attempt: last }, `${last}:-1`)
        : eventText("chunk", toJson(event.value), `${last}:${event.index}`);
    }
    yield eventText("end", {}, `${last}:end`);
  } catch (error) {
    if (signal.aborted) return;
    const code = DurableError.is(error) ? error.code : "internal";
    if (DurableError.is(error) && lasting.has(code)) {
      // With the id of the end, because a retry would give the same.
      yield eventText("error", { code, message: error.message }, `${last}:end`);
      return;
    }
    onError(error);
    yield eventText("error", { code, message: "The stream was interrupted. Connect again." });
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
