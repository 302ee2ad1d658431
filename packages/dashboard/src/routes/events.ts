/**
 * Server-sent events: that something changed, and the chunks of one stream. Proven in test/live.test.ts.
 *
 * events.1. An event only says that there is something new. The page asks for it, so no event can be missed for good.
 * events.2. A page that is closed ends its watch; a comment every few seconds notices one that vanished.
 */

import { storageOf } from "@durable/core/tools";
import { locatorOf, plain } from "@durable/core/view";
import { Refusal } from "../errors.ts";
import type { Call, Service } from "../options.ts";
import { beyondEnd } from "./run.ts";

const keepAliveMs = 10_000;
const pollMs = 1_000;
const mostOpen = 100;

type Send = (event: string, data: unknown) => void;

/** Changes of one run, or of the list. */
export function events(service: Service, { request, url }: Call): Response {
  const runId = url.searchParams.get("run") ?? "";
  return eventStream(service, request, (send, signal) =>
    runId === "" ? watchList(service, send, signal) : watchRun(service, runId, { send, signal }),
  );
}

/** Chunks of a stream, from the beginning: those that are recorded, then new ones. */
export function chunks(service: Service, { request, url, runId }: Call): Response {
  const name = url.searchParams.get("key") ?? "";
  return eventStream(service, request, async (send, signal) => {
    for await (const event of service.app.get(runId).stream(name, { signal }))
      send(event.type, event.type === "chunk" ? plain(event.value) : event.attempt);
    if (!signal.aborted) send("end", null);
  });
}

async function watchList({ live }: Service, send: Send, signal: AbortSignal): Promise<void> {
  const stop = live.watchRuns(() => send("runs", null));
  await ended(signal);
  stop();
}

async function watchRun(
  { app }: Service,
  runId: string,
  { send, signal }: { readonly send: Send; readonly signal: AbortSignal },
): Promise<void> {
  const storage = await storageOf(app);
  const locator = locatorOf(runId);
  let seen = "";
  while (!signal.aborted) {
    const { length, blocked } = await storage.read(locator, beyondEnd);
    if (signal.aborted) return;
    const now = `${length} ${blocked?.since ?? ""}`;
    if (now !== seen) send("run", { length });
    seen = now;
    // A note does not grow the journal, so the run is also looked at now and then.
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

/** Runs `work` until it ends or the client leaves. */
function eventStream(
  { live, onError }: Service,
  request: Request,
  work: (send: Send, signal: AbortSignal) => Promise<void>,
): Response {
  if (live.open >= mostOpen)
    throw new Refusal(
      "too-many-streams",
      `More than ${mostOpen} live connections are open. Close some pages.`,
    );
  const abort = new AbortController();
  const encoder = new TextEncoder();
  const stop = (): void => abort.abort();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const write = (text: string): void => {
        if (!abort.signal.aborted) controller.enqueue(encoder.encode(text));
      };
      const timer = setInterval(write, keepAliveMs, ": open\n\n");
      live.open += 1;
      request.signal?.addEventListener("abort", stop, { once: true });
      write(": open\n\n");
      void work((event, data) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`), abort.signal)
        .catch((error: unknown) => {
          if (abort.signal.aborted) return;
          write(
            `event: failed\ndata: ${JSON.stringify(error instanceof Error ? error.message : "failed")}\n\n`,
          );
          onError(error);
        })
        .finally(() => {
          live.open -= 1;
          clearInterval(timer);
          request.signal?.removeEventListener("abort", stop);
          const left = abort.signal.aborted;
          stop();
          if (!left) controller.close();
        });
    },
    cancel: stop,
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" } });
}
