/** Streams as server-sent events: from any position, live and recorded. */

import { type App, createApp, durable, DurableError, MemoryStorage, type Run } from "@durable/core";
import { createHandler } from "@durable/http";
import { expect, test } from "vitest";
import { eventsIn, eventsOf, type SentEvent } from "./support/events.ts";
import { lab, type Lab, labSecret, origin, stopped } from "./support/lab.ts";

const words = durable("words", async (ctx, list: readonly unknown[]) => {
  await ctx.stream("say", () => list);
});

/** Chunks are gathered for a moment: settles when this many of them are in the journal. */
async function recorded(app: App, id: string, count: number): Promise<void> {
  for (;;) {
    const entries = await app.get(id).entries();
    const chunks = entries.flatMap((entry) => (entry.kind === "stream.chunks" ? entry.chunks : []));
    if (chunks.length >= count) return;
    await new Promise((done) => setTimeout(done, 5));
  }
}

/** An app whose stream yields three chunks and fails, and yields five in a second attempt. */
function flakyLab(attempts: number): Lab {
  const flaky = durable("flaky", async (ctx) => {
    const say = ctx.stream(
      "say",
      async function* ({ attempt }) {
        for (let i = 0; i < (attempt === 1 ? 3 : 5); i++) yield `${attempt}.${i}`;
        if (attempt > 1) return;
        await recorded(made.app, ctx.runId, 3);
        throw new Error("as it must");
      },
      { retry: { attempts, delay: 1 } },
    );
    await say.catch(() => {});
  });
  const made = lab({ workflows: [flaky] });
  return made;
}

const read = async (response: Promise<Response>): Promise<SentEvent[]> =>
  eventsIn(await (await response).text());

test("chunks come as they were recorded, with their ids, and the end is said", async () => {
  const { app, get } = lab({ workflows: [words] });
  const list = ["one", { two: 2 }, "with\n\nempty: lines\r", new Date(0), undefined, 5n];
  await (await app.start("words", list, { id: "w" })).result();
  const response = await get("/runs/w/streams/say");
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(eventsIn(await response.text())).toEqual([
    { id: "1:0", event: "chunk", data: "one" },
    { id: "1:1", event: "chunk", data: { two: 2 } },
    { id: "1:2", event: "chunk", data: "with\n\nempty: lines\r" },
    { id: "1:3", event: "chunk", data: "1970-01-01T00:00:00.000Z" },
    { id: "1:4", event: "chunk", data: null },
    { id: "1:5", event: "chunk", data: "5" },
    { id: "1:end", event: "end", data: {} },
  ]);
});

test("H48 a client that was cut off anywhere gets the rest, resets included, and after the end 204", async () => {
  const { app, get } = flakyLab(2);
  await (await app.start("flaky", undefined, { id: "f" })).result();
  const all = await read(get("/runs/f/streams/say"));
  expect(all.map(({ id, event }) => `${event} ${id}`)).toEqual([
    "chunk 1:0",
    "chunk 1:1",
    "chunk 1:2",
    "reset 2:-1",
    "chunk 2:0",
    "chunk 2:1",
    "chunk 2:2",
    "chunk 2:3",
    "chunk 2:4",
    "end 2:end",
  ]);
  for (const [i, { id }] of all.entries()) {
    const response = await get("/runs/f/streams/say", { "last-event-id": id });
    expect(response.status, id).toBe(i === all.length - 1 ? 204 : 200);
    expect(eventsIn(await response.text()), id).toEqual(all.slice(i + 1));
  }
});

test("from and attempt name a place without a header", async () => {
  const { app, get } = flakyLab(2);
  await (await app.start("flaky", undefined, { id: "f" })).result();
  const all = await read(get("/runs/f/streams/say"));
  for (let from = 0; from <= 5; from++)
    expect(await read(get(`/runs/f/streams/say?attempt=2&from=${from}`))).toEqual(all.slice(4 + from));
  expect(await read(get("/runs/f/streams/say?from=2"))).toEqual(all.slice(2));
  // The header wins, because it is the last event that the client got.
  expect(await read(get("/runs/f/streams/say?from=0", { "last-event-id": "2:3" }))).toEqual(all.slice(-2));
  // Beyond the last chunk: only the end.
  expect(await read(get("/runs/f/streams/say", { "last-event-id": "9:9" }))).toMatchObject([
    { event: "end" },
  ]);
});

test.each(["x", "1", "1:", ":1", "0:1", "1:-2", "1:1:1", "1:1.5", `1:${"9".repeat(20)}`, "1:1, 1:2", "-1:0"])(
  "Last-Event-ID %j is refused",
  async (id) => {
    const response = await lab().get("/runs/one/streams/say", { "last-event-id": id });
    expect(response.status).toBe(400);
  },
);

test("a client that is there before the first chunk sees all as it comes, and hears that the line is open", async () => {
  const steps: (() => void)[] = [];
  const live = durable("live", async (ctx) => {
    await ctx.stream("say", async function* () {
      for (let i = 0; i < 3; i++) {
        await new Promise<void>((go) => steps.push(go));
        yield i;
      }
    });
  });
  const { app, get } = lab({ workflows: [live], keepAlive: 5 });
  const run = await app.start("live", undefined, { id: "l" });
  const response = await get("/runs/l/streams/say");
  const seen: string[] = [];
  let comments = 0;
  for await (const { id, event } of eventsOf(response)) {
    if (event === "comment") comments += 1;
    else seen.push(`${event} ${id}`);
    // Each chunk is released after the previous one was read and some comments were sent.
    if (event !== "comment" || comments % 3 === 0) steps.shift()?.();
  }
  expect(seen).toEqual(["chunk 1:0", "chunk 1:1", "chunk 1:2", "end 1:end"]);
  expect(comments).toBeGreaterThanOrEqual(3);
  await run.result();
});

/** A run whose stream has one chunk and then waits until `go` is called. */
function waitingStream(): { app: App; open: Promise<void>; go: () => void } {
  const gate = Promise.withResolvers<void>();
  const flow = durable("hang", async (ctx) => {
    await ctx.stream("say", async function* () {
      yield "first";
      await gate.promise;
    });
  });
  const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows: [flow] });
  return { app, open: app.start("hang", undefined, { id: "h" }).then(() => {}), go: gate.resolve };
}

test("when the client goes, the reading ends, and no end is said", async () => {
  const { app, open, go } = waitingStream();
  await open;
  const handler = createHandler(app, { authorize: () => true, limits: { streams: 1 }, keepAlive: 10_000 });
  const ask = (init: RequestInit = {}): Promise<Response> =>
    handler(new Request(`${origin}/runs/h/streams/say`, init));
  // By its signal, while a read is waiting.
  const abort = new AbortController();
  const first = await ask({ signal: abort.signal });
  const events = eventsOf(first);
  expect((await events.next()).value).toMatchObject({ id: "1:0" });
  const busy = await ask();
  expect([busy.status, busy.headers.get("retry-after")]).toEqual([429, "5"]);
  const waiting = events.next();
  abort.abort();
  expect(await waiting).toEqual({ done: true, value: undefined });
  // By cancelling the body.
  const second = await ask();
  expect(second.status).toBe(200);
  await second.body?.cancel();
  // By a signal that was aborted before; by HEAD, which opens no stream.
  expect(await (await ask({ signal: AbortSignal.abort() })).text()).toBe("");
  expect((await ask({ method: "HEAD" })).status).toBe(200);
  const last = await ask();
  expect(last.status).toBe(200);
  await last.body?.cancel();
  go();
  await stopped(app, "h");
});

test("S3 nothing is read ahead for a client that does not take it", async () => {
  let given = 0;
  const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows: [words] });
  await (
    await app.start(
      "words",
      Array.from({ length: 1_000 }, (_, i) => i),
      { id: "w" },
    )
  ).result();
  const counted = streaming(app, async function* (signal) {
    for await (const event of app.get("w").stream("say", { signal })) {
      given += 1;
      yield event;
    }
  });
  const response = await createHandler(counted, { authorize: () => true })(
    new Request(`${origin}/runs/w/streams/say`),
  );
  const events = eventsOf(response);
  for (let i = 0; i < 10; i++) await events.next();
  await new Promise((done) => setTimeout(done, 20));
  expect(given).toBeGreaterThanOrEqual(10);
  expect(given).toBeLessThanOrEqual(12);
  await events.return();
});

test("a stream that failed says so, and that trying again is of no use", async () => {
  const { app, get, errors } = flakyLab(1);
  await (await app.start("flaky", undefined, { id: "f" })).result();
  expect(await read(get("/runs/f/streams/say"))).toMatchObject([
    { event: "chunk", id: "1:0" },
    { event: "chunk", id: "1:1" },
    { event: "chunk", id: "1:2" },
    { event: "error", id: "1:end", data: { code: "step-failed" } },
  ]);
  expect((await get("/runs/f/streams/say", { "last-event-id": "1:end" })).status).toBe(204);
  expect(errors).toEqual([]);
});

test("a run that was cancelled cuts its stream, by name", async () => {
  const { app, open } = waitingStream();
  await open;
  const handler = createHandler(app, { authorize: () => true });
  const events = eventsOf(await handler(new Request(`${origin}/runs/h/streams/say`)));
  expect((await events.next()).value).toMatchObject({ id: "1:0" });
  const next = events.next();
  await app.cancel("h");
  expect((await next).value).toMatchObject({ event: "error", id: "1:end", data: { code: "cancelled" } });
  expect((await events.next()).done).toBe(true);
});

/** The app, with `run.stream` replaced. */
function streaming(app: App, stream: (signal: AbortSignal | undefined) => ReturnType<Run["stream"]>): App {
  return {
    ...app,
    get: (id) => {
      const run = app.get(id);
      run.stream = ((_name, options) => stream(options?.signal)) as Run["stream"];
      return run;
    },
  };
}

test.each([
  ["internal", new Error("/srv/private is gone")],
  ["storage-failed", new DurableError("storage-failed", "/srv/private is gone")],
])(
  "a failure on the way (%s) ends the connection without an end event, and goes to onError",
  async (code, error) => {
    const { app, open, go } = waitingStream();
    await open;
    const errors: unknown[] = [];
    const broken = streaming(app, async function* () {
      yield { type: "chunk", attempt: 1, index: 0, value: 1 };
      throw error;
    });
    const handler = createHandler(broken, { authorize: () => true, onError: (one) => errors.push(one) });
    const text = await (await handler(new Request(`${origin}/runs/h/streams/say`))).text();
    expect(eventsIn(text)).toMatchObject([{ event: "chunk" }, { event: "error", id: "", data: { code } }]);
    expect(text).not.toContain("private");
    expect(errors).toEqual([error]);
    go();
  },
);

test("a read without a client is cancelled", async () => {
  const { app, open, go } = waitingStream();
  await open;
  const signals: (AbortSignal | undefined)[] = [];
  const watched = streaming(app, (signal) => {
    signals.push(signal);
    return app.get("h").stream("say", { signal });
  });
  const handler = createHandler(watched, { authorize: () => true });
  const abort = new AbortController();
  const first = await handler(new Request(`${origin}/runs/h/streams/say`, { signal: abort.signal }));
  const second = await handler(new Request(`${origin}/runs/h/streams/say`));
  expect(signals.map((signal) => signal?.aborted)).toEqual([false, false]);
  abort.abort();
  await second.body?.cancel();
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, true]);
  expect(await first.text()).toBe("");
  go();
});

test("a run that is over and never had the stream is 404, a run under way may still have it", async () => {
  const { app, get } = lab();
  await app.start("echo", 1, { id: "over" });
  await stopped(app, "over");
  const response = await get("/runs/over/streams/say");
  expect([response.status, await response.json()]).toMatchObject([404, { error: { code: "unknown-step" } }]);
  await app.start("open", undefined, { id: "open" });
  const waiting = await get("/runs/open/streams/say");
  expect(waiting.status).toBe(200);
  await waiting.body?.cancel();
});

test("a stream in a branch is asked for by its key, escaped", async () => {
  const branched = durable("branched", async (ctx) => {
    await ctx.parallel({ a: (c) => c.stream("say", () => ["a"]), b: (c) => c.stream("say", () => ["b"]) });
  });
  const { app, get } = lab({ workflows: [branched] });
  await (await app.start("branched", undefined, { id: "b" })).result();
  const path = `/runs/b/streams/${encodeURIComponent("parallel[b]/say")}`;
  expect(await read(get(path))).toMatchObject([{ data: "b" }, { event: "end" }]);
});
