/**
 * Server-sent events: that something changed, and the chunks of one stream. Proven in test/live.test.ts.
 *
 * events.1. An event only says that there is something new. The page asks for it, so no event can be missed for good.
 * events.2. A page that is closed ends its watch; a comment every few seconds notices one that vanished.
 * events.3. One connection is for the tabs of a browser: the list, and several runs. A slow one misses nothing and holds one event
 *     of each.
 */

import { DurableError } from "@durable/core";
import { locatorOf, storageOf, underWay } from "@durable/core/inspect";
import { allow, assertFree, type Call, eventStream, eventText, runIdOf } from "@durable/http/kit";
import { mostWatched } from "../api.ts";
import type { Service } from "../options.ts";
import { Room } from "../text.ts";
import { beyondEnd } from "./run.ts";

const keepAliveMs = 10_000;
const pollMs = 1_000;
/** Connections at the same time: of all pages, and of those of one scope. */
const most = { streams: 100, streamsPerScope: 20 };

type Texts = AsyncGenerator<string, void>;

/** Changes of some runs, of the list, or of both. Runs that the visitor may not see are left out. */
export async function events(service: Service, { request, url }: Call): Promise<Response> {
  const named = [...new Set(url.searchParams.getAll("run"))].filter((id) => id !== "").map(runIdOf);
  if (named.length > mostWatched)
    throw new DurableError("invalid-options", `A connection is about at most ${mostWatched} runs.`);
  const list = named.length === 0 || url.searchParams.has("list") ? [{ type: "list" } as const] : [];
  const allowed: Seen[] = [];
  let scope: string | undefined;
  let refusal: unknown;
  for (const action of [...list, ...named.map((runId) => ({ type: "read", runId }) as const)])
    try {
      ({ scope } = await allow(service, request, action));
      allowed.push(action);
    } catch (error) {
      refusal = error;
    }
  if (allowed.length === 0) throw refusal;
  return stream(service, { request, scope }, (signal) => changes(service, allowed, signal));
}

/** What a connection is about. */
type Seen = { readonly type: "list" } | { readonly type: "read"; readonly runId: string };

/** Chunks of a stream, from the beginning: those that are recorded, then new ones. */
export function chunks(service: Service, { request, url, runId, scope }: Call): Response {
  const name = url.searchParams.get("key") ?? "";
  return stream(service, { request, scope }, async function* (signal) {
    for await (const event of service.app.get(runId).stream(name, { signal }))
      yield eventText(event.type, event.type === "chunk" ? new Room().show(event.value) : event.attempt);
    yield eventText("end", null);
  });
}

async function* changes(service: Service, seen: readonly Seen[], signal: AbortSignal): Texts {
  const fresh = new Map<string, string>();
  const failures: unknown[] = [];
  let changed = Promise.withResolvers<void>();
  const say = (topic: string, text: string): void => {
    fresh.set(topic, text);
    changed.resolve();
  };
  const stops = seen.map((one) => {
    if (one.type === "list") return service.live.watchRuns(() => say("", eventText("runs", null)));
    const { runId } = one;
    const tell = (length: number): void => say(runId, eventText("run", { runId, length }));
    watchRun(service, { runId, signal, tell }).catch((error: unknown) => {
      failures.push(error);
      changed.resolve();
    });
    return () => {};
  });
  signal.addEventListener("abort", () => changed.resolve(), { once: true });
  try {
    for (;;) {
      await changed.promise;
      if (signal.aborted) return;
      if (failures.length > 0) throw failures[0];
      changed = Promise.withResolvers();
      const texts = [...fresh.values()];
      fresh.clear();
      yield* texts;
    }
  } finally {
    for (const stop of stops) stop();
  }
}

interface Watched {
  readonly runId: string;
  readonly signal: AbortSignal;
  /** Called at the beginning, and for each change. */
  readonly tell: (length: number) => void;
}

async function watchRun({ app }: Service, { runId, signal, tell }: Watched): Promise<void> {
  const storage = await storageOf(app);
  const locator = locatorOf(runId);
  let seen = "";
  while (!signal.aborted) {
    const [{ length, blocked }, doing] = await Promise.all([storage.read(locator, beyondEnd), underWay(app)]);
    const begun = doing.get(runId)?.map(({ key, attempt }) => `${key} ${attempt}`) ?? [];
    const now = [length, blocked?.since ?? "", ...begun].join("\n");
    if (now !== seen) tell(length);
    seen = now;
    // Neither a note nor work that begins grows the journal, so the run is also read now and then.
    const pause = AbortSignal.any([
      signal,
      AbortSignal.timeout(storage.changed === undefined ? pollMs : 2 * pollMs),
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
