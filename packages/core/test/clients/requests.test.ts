/** How often a server is asked by the clients of the providers, and by `fetch`, with clientRetry. */

import type { ServerResponse } from "node:http";
import { clientRetry, type Context } from "@durable/core";
import { durableFetch, liveStream } from "@durable/core/clients";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Loopback } from "../../../ai-sdk/test/support/loopback.ts";
import { clientsOver, type Asking } from "./support/clients.ts";
import { Lives } from "./support/lives.ts";
import { eventsOf, text, wires, type Provider } from "./support/wires.ts";

/** What the server does with a request. */
type Reply = (response: ServerResponse, provider: Provider) => void;

let [requests, provider, reply]: [number, Provider, readonly Reply[]] = [0, "Anthropic", []];
const server = new Loopback((request, response) => {
  request.resume();
  request.once("end", () => (reply[requests++] ?? reply.at(-1))?.(response, provider));
});
beforeAll(() => server.listen());
afterAll(() => server.close());
beforeEach(() => (requests = 0));

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) =>
    response
      .writeHead(code, { "content-type": "application/json", ...headers })
      .end('{"error":{"message":"no"}}');

const whole: Reply = (response, of) =>
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(wires[of].body));
const events: Reply = (response, of) =>
  response.writeHead(200, { "content-type": "text/event-stream" }).end(eventsOf(of).join(""));

/** The connection is lost before an answer. */
const lost: Reply = (response) => response.destroy();
/** It is lost after a part of the answer has come. */
const cut: Reply = (response) =>
  response.writeHead(200, { "content-type": "application/json" }).write('{"id": "', () => response.destroy());
const cutEvents: Reply = (response, of) =>
  response
    .writeHead(200, { "content-type": "text/event-stream" })
    .write(eventsOf(of)[0], () => response.destroy());

/** `fetch` as any other client: an error with what clientRetry reads. */
const plain = (send: typeof fetch, origin: string): Asking => {
  const ask = async (): Promise<Response> => {
    const response = await send(`${origin}/v1/messages`, { method: "POST", body: "{}" });
    const { ok, status: code, headers } = response;
    if (!ok) throw Object.assign(new Error(`The answer is ${code}.`), { status: code, headers });
    return response;
  };
  const read = async function* () {
    for await (const bytes of (await ask()).body ?? []) yield new TextDecoder().decode(bytes);
  };
  return { whole: async () => (await ask()).json(), events: async () => read() };
};

const providers = Object.keys(wires) as Provider[];
const clients = [...providers, "fetch"] as const;
type Client = (typeof clients)[number];

function clientOf(name: Client, send: typeof fetch, maxRetries: number): Asking {
  provider = name === "fetch" ? "Anthropic" : name;
  const { origin } = server;
  return name === "fetch" ? plain(send, origin) : clientsOver(send, { origin, maxRetries })[name];
}

/** The policy of clientRetry, without its delays. */
const retry = { ...clientRetry, delay: 1 };

const json = (value: unknown): string => JSON.stringify(value);
const producer = (asking: Asking) =>
  async function* () {
    for await (const event of await asking.events()) yield json(event);
  };

async function joined(words: AsyncIterable<string>): Promise<string> {
  let all = "";
  for await (const word of words) all += word;
  return all;
}

/** A way to ask: the client, over this `fetch`, in a run. */
type Way = (over: (send: typeof fetch) => Asking, ctx: Context) => Promise<string>;

const inStep: Way = (over, ctx) => ctx.step("ask", async () => json(await over(fetch).whole()), { retry });
const readInStep: Way = (over, ctx) => ctx.step("ask", () => joined(producer(over(fetch))()), { retry });
const inStream: Way = async (over, ctx) => (await ctx.stream("ask", producer(over(fetch)), { retry })).join();
const inLive: Way = async (over, ctx) => joined(liveStream(ctx, "ask", producer(over(fetch)), { retry }));
const byFetch: Way = async (over, ctx) => json(await over(durableFetch(ctx, { retry })).whole());
const readByFetch: Way = async (over, ctx) => joined(producer(over(durableFetch(ctx, { retry })))());

/** Asks in a run and in its replay, which makes no request. */
async function asked(client: Client, way: Way, replies: readonly Reply[], maxRetries = 0) {
  reply = replies;
  const lives = new Lives();
  const over = (send: typeof fetch): Asking => clientOf(client, send, maxRetries);
  const first = await lives.live((ctx) => way(over, ctx));
  const made = requests;
  const second = await lives.live((ctx) => way(over, ctx));
  expect(requests).toBe(made);
  expect([second.value, String(second.error)]).toEqual([first.value, String(first.error)]);
  const delays = (await lives.entries()).flatMap((entry) =>
    entry.kind === "attempt.failed" ? [entry.retryAt - entry.at] : [],
  );
  return { made, delays, value: first.value };
}

describe.each(clients)("%s", (client) => {
  test.each<[string, Way, Reply, number]>([
    ["500", inStep, status(500), 3],
    ["529", inStep, status(529), 3],
    ["429", inStep, status(429), 3],
    ["408", inStep, status(408), 3],
    ["400", inStep, status(400), 1],
    ["401", inStep, status(401), 1],
    ["403", inStep, status(403), 1],
    ["404", inStep, status(404), 1],
    ["a lost connection", inStep, lost, 3],
    ["a cut answer", inStep, cut, 3],
    ["500 for a stream that a step reads", readInStep, status(500), 3],
    ["401 for a stream that a step reads", readInStep, status(401), 1],
    ["a cut stream that a step reads", readInStep, cutEvents, 3],
    ["500 for ctx.stream", inStream, status(500), 3],
    ["401 for ctx.stream", inStream, status(401), 1],
    ["a cut ctx.stream", inStream, cutEvents, 3],
    ["500 for liveStream", inLive, status(500), 3],
    ["401 for liveStream", inLive, status(401), 1],
    ["a liveStream without a first word", inLive, lost, 3],
    ["500 for durableFetch", byFetch, status(500), 3],
    ["401 for durableFetch", byFetch, status(401), 1],
    ["a lost connection of durableFetch", byFetch, lost, 3],
    ["a cut answer for durableFetch", byFetch, cut, 3],
    ["a stream of durableFetch without a first word", readByFetch, lost, 3],
  ])("%s: as many requests as the guide says", async (_, way, answer, expected) => {
    const { made, value } = await asked(client, way, [answer]);
    expect([made, value]).toEqual([expected, undefined]);
  });

  // The first event of Google is the whole answer.
  test.runIf(client !== "Google").each([inLive, readByFetch])("cut after its first word: 1", async (way) => {
    const { made, value } = await asked(client, way, [cutEvents, events]);
    expect([made, value]).toEqual([1, undefined]);
  });

  test.each<[Way, readonly Reply[]]>([
    [inStep, [status(500), cut, whole]],
    [readInStep, [lost, cutEvents, events]],
    [inStream, [status(429), cutEvents, events]],
    [inLive, [lost, status(500), events]],
    [byFetch, [status(429), cut, whole]],
    [readByFetch, [lost, status(500), events]],
  ])("the third request succeeds %#", async (way, replies) => {
    const { made, value } = await asked(client, way, replies);
    expect(made).toBe(3);
    expect(value).toContain(text);
  });

  // The errors of Google's client have no headers.
  test.runIf(client !== "Google").each([
    ["retry-after", "3600"],
    ["retry-after-ms", "3600000"],
  ])("429 with %s: the next request is due then", async (name, value) => {
    const { made, delays } = await asked(client, inStep, [status(429, { [name]: value })]);
    // The entry is written a little after the answer.
    expect([made, delays.map((ms) => Math.round(ms / 600_000))]).toEqual([1, [6]]);
  });

  test.runIf(client !== "Google" && client !== "fetch")("with its own two retries: 9", async () => {
    const { made } = await asked(client, inStep, [status(500, { "retry-after-ms": "1" })], 2);
    expect(made).toBe(9);
  });
});
