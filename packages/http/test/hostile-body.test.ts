/** H64 over real sockets: every bad body gets a 4xx, memory is bounded, and nothing is resumed. */

import { gzipSync } from "node:zlib";
import { createApp, MemoryStorage } from "@durable/core";
import { createHandler, github, type Handler, webhook } from "@durable/http";
import { serve, type Server } from "@durable/http/node";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { fuzzServer } from "./support/fuzz.ts";
import { labSecret, workflows } from "./support/lab.ts";
import { pause, raw, wire } from "./support/raw.ts";
import { signGithub } from "./support/signed.ts";

const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows });
const errors: unknown[] = [];
let handled = 0;
let server: Server;
let token = "";
let path = "";

beforeAll(async () => {
  const limits = { bytes: 10_000, bodyTimeout: 1_000 };
  const api = createHandler(app, { authorize: () => true, limits, onError: (error) => errors.push(error) });
  const hook = webhook(
    { profile: github({ secrets: "a secret of webhooks" }), limits, onError: (error) => errors.push(error) },
    () => {
      handled += 1;
    },
  );
  const handler: Handler = (request) =>
    new URL(request.url).pathname === "/hook" ? hook(request) : api(request);
  server = await serve(handler, { onError: (error) => errors.push(error) });
  const run = await app.start("open", undefined, { id: "one" });
  await run.result().catch(() => {});
  const outcome = await run.outcome();
  token = outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? "") : "";
  path = `/resume/${token}`;
});

afterAll(async () => {
  await server.close();
});

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };
const value = '{"value":1}';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const sized = (text: string, headers: Record<string, string>): string =>
  wire(`POST ${path}`, { ...headers, "content-length": String(text.length) }, text);

/** Requests for an open wait, none of which is a valid answer. */
const hostile: Record<string, () => { pieces: Parameters<typeof raw>[1]; statuses: readonly number[] }> = {
  "no length and no body": () => ({ pieces: [wire(`POST ${path}`, json)], statuses: [400] }),
  "in pieces, one byte over": () => {
    const text = `{"value":"${"x".repeat(9_989)}"}`;
    return {
      pieces: [wire(`POST ${path}`, { ...json, "transfer-encoding": "chunked" }), chunk(text), "0\r\n\r\n"],
      statuses: [413],
    };
  },
  "with a length, one byte over": () => ({
    pieces: [sized(`{"value":"${"x".repeat(9_989)}"}`, json)],
    statuses: [413],
  }),
  "a length that is a lie": () => ({
    pieces: [wire(`POST ${path}`, { ...json, "content-length": "999999999" }, value)],
    statuses: [413],
  }),
  "a length that is not a number": () => ({
    pieces: [wire(`POST ${path}`, { ...json, "content-length": "ten" }, value)],
    statuses: [400],
  }),
  "two lengths": () => ({
    pieces: [wire(`POST ${path}`, { ...json, "content-length": ["11", "12"] }, value)],
    statuses: [400],
  }),
  "a length and pieces": () => ({
    pieces: [
      wire(
        `POST ${path}`,
        { ...json, "content-length": "11", "transfer-encoding": "chunked" },
        chunk(value) + "0\r\n\r\n",
      ),
    ],
    statuses: [400],
  }),
  "chunks with an invalid size": () => ({
    pieces: [wire(`POST ${path}`, { ...json, "transfer-encoding": "chunked" }, "zz\r\nabc\r\n")],
    statuses: [400],
  }),
  "a gzip bomb": () => {
    // What is sent is the beginning of it, whatever its length.
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024, 0x20)).subarray(0, 9_000);
    const head = { ...json, "content-encoding": "gzip", "content-length": String(bomb.length) };
    return { pieces: [wire(`POST ${path}`, head), bomb], statuses: [415] };
  },
  "JSON as a form": () => ({ pieces: [sized(value, form)], statuses: [400] }),
  "a form as JSON": () => ({ pieces: [sized("value=1", json)], statuses: [400] }),
  "a form as text": () => ({ pieces: [sized("value=1", { "content-type": "text/plain" })], statuses: [415] }),
  "two media types": () => ({
    pieces: [
      wire(
        `POST ${path}`,
        { "content-type": ["application/json", "text/plain"], "content-length": "11" },
        value,
      ),
    ],
    statuses: [400, 415],
  }),
  "a depth bomb": () => ({ pieces: [sized(`{"value":${"[".repeat(5_000)}`, json)], statuses: [400] }),
  "a body that stops half-way": () => ({
    pieces: [wire(`POST ${path}`, { ...json, "content-length": "100" }, '{"value"')],
    statuses: [408],
  }),
  "a body that drips": () => ({
    pieces: [
      wire(`POST ${path}`, { ...json, "content-length": "100" }),
      ...Array.from({ length: 20 }, () => [pause(100), " "] as const).flat(),
    ],
    statuses: [408],
  }),
  "GET with a body": () => ({
    pieces: [wire(`GET ${path}`, { ...json, "content-length": String(value.length) }, value)],
    statuses: [200],
  }),
  HEAD: () => ({ pieces: [wire(`HEAD ${path}`, {})], statuses: [200] }),
  PUT: () => ({ pieces: [wire(`PUT ${path}`, { ...json, "content-length": "11" }, value)], statuses: [405] }),
  "a method in the query": () => ({
    pieces: [wire(`GET ${path}?_method=POST&value=1`, {})],
    statuses: [200],
  }),
  "a method in a header": () => ({
    pieces: [wire(`GET ${path}`, { "x-http-method-override": "POST" })],
    statuses: [200],
  }),
  TRACE: () => ({ pieces: [wire(`TRACE ${path}`, {})], statuses: [400, 405] }),
  "headers of 20,000 bytes": () => ({
    pieces: [wire(`POST ${path}`, { ...json, x: "y".repeat(20_000) })],
    statuses: [431],
  }),
};

test.each(Object.entries(hostile))("H64 %s", async (_what, make) => {
  const before = await app.get("one").entries();
  const { pieces, statuses } = make();
  const answer = await raw(server.port, pieces);
  expect(statuses).toContain(answer.statuses[0]);
  expect(answer.statuses.length).toBe(1);
  expect(answer.closed).toBe(true);
  expect(await app.get("one").entries()).toEqual(before);
  expect(errors).toEqual([]);
});

test("H64 a body without end takes no room, and a proper request is answered beside it", async () => {
  const own = await fuzzServer();
  try {
    const piece = Buffer.from(chunk("x".repeat(60_000)));
    const endless = (): Promise<Awaited<ReturnType<typeof raw>>> =>
      raw(own.port, [
        wire("POST /resume/x", { ...json, "transfer-encoding": "chunked" }),
        async (socket) => {
          // 12 MB each, as fast as they are taken.
          for (let i = 0; i < 200 && !socket.destroyed; i++)
            if (!socket.write(piece))
              await Promise.race([new Promise((go) => socket.once("drain", go)), pause(100)()]);
        },
      ]);
    const crowd = (): Promise<Awaited<ReturnType<typeof raw>>>[] =>
      Array.from({ length: inject("full") ? 12 : 4 }, endless);
    // Warms up first, because the cost of many connections is not measured here.
    await Promise.all(crowd());
    const before = await own.memory();
    const sending = crowd();
    const beside = await fetch(`http://127.0.0.1:${own.port}/runs/kept`);
    expect(beside.status).toBe(200);
    for (const { statuses, closed } of await Promise.all(sending)) {
      // A client that keeps sending may be cut off before it reads the response.
      expect(statuses[0] ?? 413).toBe(413);
      expect(closed).toBe(true);
    }
    const after = await own.memory();
    expect(after.rss - before.rss).toBeLessThan(64 * 1024 * 1024);
    expect(after.faults).toBe(0);
  } finally {
    own.stop();
  }
});

test("H64 a signed webhook with two signature headers is not handled, in either order", async () => {
  const { body, headers } = signGithub("a secret of webhooks", '{"a":1}');
  const good = headers["x-hub-signature-256"] as string;
  const bad = `sha256=${"0".repeat(64)}`;
  for (const twice of [
    [good, bad],
    [bad, good],
    [good, good],
  ]) {
    const head = { ...json, "content-length": String(body.length), "x-hub-signature-256": twice };
    expect((await raw(server.port, [wire("POST /hook", head, body)])).statuses).toEqual([401]);
  }
  for (const line of ["GET /hook", "HEAD /hook"])
    expect((await raw(server.port, [wire(line, headers)])).statuses).toEqual([405]);
  expect(handled).toBe(0);
  const head = { ...headers, "content-length": String(body.length) };
  expect((await raw(server.port, [wire("POST /hook", head, body)])).statuses).toEqual([202]);
  expect(handled).toBe(1);
});

test("H64 after all that the proper answer is taken", async () => {
  expect((await app.get("one").outcome()).status).toBe("suspended");
  expect((await raw(server.port, [sized(value, json)])).statuses).toEqual([200]);
  expect(await app.get("one").result()).toEqual({ answer: 1 });
});
