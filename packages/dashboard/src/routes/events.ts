/**
 * Server-sent events: that something changed, and the chunks of one stream. Proven in test/live.test.ts.
 *
 * events.1. An event only says that there is something new. The page asks for it, so no event can be missed for good.
 * events.2. A page that is closed ends its watch; a comment every few seconds notices one that vanished.
 */

import { storageOf } from "@durable/core/inspect";
import { locatorOf } from "@durable/core/inspect";
import { allow, assertFree, type Call, eventStream, eventText, runIdOf } from "@durable/http/kit";
import type { Service } from "../options.ts";
import { Room } from "../text.ts";
import { beyondEnd } from "./run.ts";

const keepAliveMs = 10_000;
const pollMs = 1_000;
/** Connections at the same time: of all pages, and of those of one scope. */
const most = { streams: 100, streamsPerScope: 20 };

type Texts = AsyncGenerator<string, void>;

/** Changes of one run, or of the list. */
export async function events(service: Service, { request, url }: Call): Promise<Response> {
  const named = url.searchParams.get("run") ?? "";
  const runId = named === "" ? "" : runIdOf(named);
  const { scope } = await allow(service, request, runId === "" ? { type: "list" } : { type: "read", runId });
  return stream(service, { request, scope }, (signal) =>
    runId === "" ? listTexts(service, signal) : runTexts(service, runId, signal),
  );
}

/** Chunks of a stream, from the beginning: those that are recorded, then new ones. */
export function chunks(service: Service, { request, url, runId, scope }: Call): Response {
  const name = url.searchParams.get("key") ?? "";
  return stream(service, { request, scope }, async function* (signal) {
    for await (const event of service.app.get(runId).stream(name, { signal }))
      yield eventText(event.type, event.type === "chunk" ? new Room().show(event.value) : event.attempt);
    yield eventText("end", null);
  });
}

async function* listTexts({ live }: Service, signal: AbortSignal): Texts {
  let changed = Promise.withResolvers<void>();
  const look = (): void => changed.resolve();
  const stop = live.watchRuns(look);
  signal.addEventListener("abort", look, { once: true });
  try {
    for (;;) {
      await changed.promise;
      if (signal.aborted) return;
      changed = Promise.withResolvers();
      yield eventText("runs", null);
    }
  } finally {
    stop();
  }
}

async function* runTexts({ app }: Service, runId: string, signal: AbortSignal): Texts {
  const storage = await storageOf(app);
  const locator = locatorOf(runId);
  let seen = "";
  while (!signal.aborted) {
    const { length, blocked } = await storage.read(locator, beyondEnd);
    const now = `${length} ${blocked?.since ?? ""}`;
    if (now !== seen) yield eventText("run", { length });
    seen = now;
    // A note does not grow the journal, so the run is also read now and then.
    const pause = AbortSignal.any([
      signal,
      AbortSignal.timeout(storage.changed === undefined ? pollMs : 5 * pollMs),
    ]);
    await (storage.changed?.(locator, length, pause) ?? ended(pause));
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Sends what `source` says until it ends or the client leaves; a failure is its last event. */
function stream(
  { streams: slots, onError }: Service,
  { request, scope }: { readonly request: Request; readonly scope: string | undefined },
  source: (signal: AbortSignal) => Texts,
): Response {
  assertFree(slots, most, scope);
  const abort = new AbortController();
  return eventStream(texts(), { slots, scope, keepAliveMs, abort, client: request.signal });

  async function* texts(): Texts {
    yield ": open\n\n";
    try {
      yield* source(abort.signal);
    } catch (error) {
      if (abort.signal.aborted) return;
      onError(error);
      yield eventText("failed", error instanceof Error ? error.message : "failed");
    }
  }
}
