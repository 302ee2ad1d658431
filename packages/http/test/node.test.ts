/** The Node server: real sockets, streaming both ways, graceful close. */

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createApp, durable, MemoryStorage } from "@durable/core";
import { createHandler } from "@durable/http";
import { nodeListener, serve } from "@durable/http/node";
import { expect, test } from "vitest";
import { eventsIn, eventsOf } from "./support/events.ts";
import { labSecret, workflows } from "./support/lab.ts";
import { raw, wire } from "./support/raw.ts";
import { served } from "./support/served.ts";

const post = (url: string, body: unknown): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

test("a whole conversation over sockets: start, read, confirm page, answer, entries, list", async () => {
  const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows });
  const { url, port, hostname } = await served(createHandler(app, { authorize: () => true }));
  expect([url, hostname]).toEqual([`http://127.0.0.1:${port}`, "127.0.0.1"]);
  const started = await post(`${url}/runs`, { workflow: "review", input: "x", id: "one" });
  expect([started.status, await started.json()]).toEqual([
    202,
    { runId: "one", status: "running", repeated: false },
  ]);
  let read: { status: string; waiting: { token: string }[] };
  do read = (await (await fetch(`${url}/runs/one`)).json()) as typeof read;
  while (read.status === "running");
  const link = `${url}/resume/${read.waiting[0]?.token}`;
  const page = await fetch(link);
  expect([page.status, await page.text()]).toMatchObject([200, expect.stringContaining("<form") as string]);
  const sent = await fetch(link, {
    method: "POST",
    headers: { accept: "text/html" },
    body: new URLSearchParams({ value: '{"approved":true}' }),
  });
  expect([sent.status, await sent.text()]).toMatchObject([
    200,
    expect.stringContaining("Thank you") as string,
  ]);
  expect(await (await fetch(`${url}/runs/one`)).json()).toMatchObject({ status: "completed" });
  expect(await (await fetch(`${url}/runs?status=completed`)).json()).toMatchObject({
    runs: [{ runId: "one" }],
  });
  const entries = (await (await fetch(`${url}/runs/one/entries`)).json()) as { entries: unknown[] };
  expect(entries.entries.length).toBe((await app.get("one").entries()).length);
});

test("H48 a stream over sockets, cut by the client after every event: each is seen once", async () => {
  const says = durable("says", async (ctx) => {
    await ctx.stream("say", async function* () {
      for (let i = 0; i < 12; i++) {
        yield i;
        if (i % 4 === 3) await new Promise((go) => setTimeout(go, 30));
      }
    });
  });
  const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows: [says] });
  const { url } = await served(createHandler(app, { authorize: () => true, limits: { streams: 1 } }));
  await app.start("says", undefined, { id: "s" });
  const seen: unknown[] = [];
  let last = "";
  while (!last.endsWith("end")) {
    const abort = new AbortController();
    const headers = last === "" ? {} : { "last-event-id": last };
    const response = await fetch(`${url}/runs/s/streams/say`, { headers, signal: abort.signal });
    // The slot of the previous connection is free once the server has noticed the disconnect.
    if (response.status === 429) {
      await new Promise((go) => setTimeout(go, 5));
      continue;
    }
    const { value } = await eventsOf(response).next();
    abort.abort();
    last = value?.id ?? "";
    if (value?.event === "chunk") seen.push(value.data);
  }
  expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => i));
  expect((await fetch(`${url}/runs/s/streams/say`, { headers: { "last-event-id": last } })).status).toBe(204);
});

test("a client that goes away is seen to go, by the handler and by the body it was sent", async () => {
  const aborted = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const { url } = await served((request) => {
    request.signal.addEventListener("abort", () => aborted.resolve());
    let turn = 0;
    const body = new ReadableStream({
      pull: (controller) => (turn++ === 0 ? controller.enqueue(new Uint8Array(10)) : new Promise(() => {})),
      cancel: () => cancelled.resolve(),
    });
    return new Response(body);
  });
  const abort = new AbortController();
  const response = await fetch(url, { signal: abort.signal });
  await response.body?.getReader().read();
  abort.abort();
  expect(await Promise.all([aborted.promise, cancelled.promise])).toEqual([undefined, undefined]);
});

test("a request that was answered is not aborted afterwards", async () => {
  let aborted = 0;
  const { url } = await served((request) => {
    request.signal.addEventListener("abort", () => (aborted += 1));
    return new Response("done");
  });
  for (let i = 0; i < 5; i++) await (await fetch(url)).text();
  expect(aborted).toBe(0);
});

test("heads go both ways as they are: cookies, twins, statuses without a body, HEAD", async () => {
  const { url, port } = await served((request) => {
    const headers = new Headers({ "x-seen": request.headers.get("x-twice") ?? "" });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2");
    return request.method === "HEAD"
      ? new Response("not sent", { headers })
      : new Response(null, { status: 204, headers });
  });
  const response = await fetch(url);
  expect([response.status, response.headers.getSetCookie()]).toEqual([204, ["a=1", "b=2"]]);
  const { text } = await raw(port, [wire("GET /", { "x-twice": ["one", "two"] })]);
  expect(text).toContain("x-seen: one, two");
  const head = await fetch(url, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("the address is the server's, whatever Host and request line claim", async () => {
  const { port, url } = await served((request) => new Response(request.url));
  for (const [line, path] of [
    ["GET /a?b=c", "/a?b=c"],
    ["GET //evil.example/x", "//evil.example/x"],
    ["GET http://evil.example/y?z", "/y?z"],
    ["GET /%2e%2e/a", "/a"],
  ] as const) {
    const { text } = await raw(port, [wire(line, { host: "evil.example" })]);
    expect(text.split("\r\n")).toContain(`${url}${path}`);
  }
  for (const line of ["OPTIONS *", "GET nonsense", "TRACE /", "GET http://"])
    expect((await raw(port, [wire(line, {})])).statuses, line).toEqual([400]);
});

test("a handler that throws is a 500 that says nothing; one that breaks off cuts the line", async () => {
  const errors: unknown[] = [];
  const { url } = await served(
    (request) => {
      if (request.url.endsWith("/throw")) throw new Error("/srv/private");
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array(5)),
        pull: (controller) => controller.error(new Error("broke off")),
      });
      return new Response(body);
    },
    { onError: (error) => errors.push(error) },
  );
  const response = await fetch(`${url}/throw`);
  expect([response.status, await response.json()]).toMatchObject([500, { error: { code: "internal" } }]);
  await expect(fetch(`${url}/break`).then((broken) => broken.text())).rejects.toThrow(/terminated/);
  expect(errors.map(String)).toEqual(["Error: /srv/private", "Error: broke off"]);
});

test("close lets requests end, cuts streams at once, and takes no more", async () => {
  const gate = Promise.withResolvers<void>();
  const says = durable("says", async (ctx) => {
    await ctx.stream("say", async function* () {
      yield 1;
      await gate.promise;
    });
  });
  const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows: [says] });
  const api = createHandler(app, { authorize: () => true });
  const slow = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  const server = await serve(
    (request) => {
      if (!request.url.endsWith("/slow")) return api(request);
      asked.resolve();
      return slow.promise;
    },
    { closeTimeout: 60_000 },
  );
  await app.start("says", undefined, { id: "s" });
  const stream = await fetch(`${server.url}/runs/s/streams/say`);
  const waiting = fetch(`${server.url}/slow`);
  await asked.promise;
  const closing = server.close();
  // The stream ends without an end event, so its client will reconnect.
  expect(eventsIn(await stream.text()).map(({ event }) => event)).not.toContain("end");
  slow.resolve(new Response("in time"));
  const answer = await waiting;
  expect([await answer.text(), answer.headers.get("connection")]).toEqual(["in time", "close"]);
  await closing;
  await expect(fetch(server.url)).rejects.toThrow(/fetch failed/);
  gate.resolve();
});

test("close does not wait for ever", async () => {
  const server = await serve(() => new Promise<Response>(() => {}), { closeTimeout: 50 });
  const hanging = fetch(server.url).catch(() => "cut");
  await new Promise((go) => setTimeout(go, 50));
  await server.close();
  expect(await hanging).toBe("cut");
});

test("a port that is taken is an error where it is asked for", async () => {
  const { port } = await served(() => new Response());
  await expect(serve(() => new Response(), { port })).rejects.toThrow(/EADDRINUSE/);
});

test("more connections than allowed are turned away, and the rest is served", async () => {
  const { port, url } = await served(() => new Response("ok"), { maxConnections: 5 });
  const idle = await Promise.all(Array.from({ length: 20 }, () => raw(port, [], 1_000)));
  expect(idle.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(10);
  expect(await (await fetch(url)).text()).toBe("ok");
});

test("nodeListener serves under http.createServer, and under a framework that cuts its mount off", async () => {
  const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows });
  const listener = nodeListener(createHandler(app, { basePath: "/api", authorize: () => true }));
  const server = createServer((request, response) => {
    const mounted = request as IncomingMessage & { originalUrl?: string };
    mounted.originalUrl = request.url ?? "/";
    request.url = (request.url ?? "").replace(/^\/api/, "");
    listener(request, response);
  });
  await new Promise<void>((go) => {
    server.listen(0, "127.0.0.1", go);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect((await post(`${url}/api/runs`, { workflow: "echo", id: "x" })).status).toBe(202);
  expect((await fetch(`${url}/other`)).status).toBe(404);
  server.closeAllConnections();
  await new Promise((go) => {
    server.close(go);
  });
});
