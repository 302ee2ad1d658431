/** The client of an app, over the routes of its handler. */

import { createApp, durable, DurableError, MemoryStorage } from "@durable/core";
import { createHandler, type Handler, type HandlerOptions } from "@durable/http";
import { ClientError, createClient, type ClientOutcome, type ClientWait } from "@durable/http/client";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { labSecret } from "./support/lab.ts";

const url = "http://lab.example/api";

const order = durable("order", async (ctx, { item, count }: { item: string; count: number }) => {
  await ctx.step("pack", () => `${count} ${item}`);
  return { item, at: new Date(0), seen: new Set([item]), none: undefined, big: 5n };
});
const review = durable("review", async (ctx, topic: string) => {
  const draft = await ctx.step("draft", () => `all about ${topic}`);
  ctx.report({ draft });
  return { draft, verdict: await ctx.suspend<string>("verdict", { note: draft }) };
});
const mail = durable("mail", async (ctx) => [await ctx.receive("note"), await ctx.receive("note")], {
  messages: { note: z.number() },
});
const broken = durable("broken", (ctx) =>
  ctx.step("fail", () => Promise.reject(new Error("as it must")), { retry: { attempts: 1 } }),
);
const words = durable("words", async (ctx, list: readonly unknown[]) => {
  await ctx.stream("say", () => list);
});

/** How a request fares on its way. */
type Network = (request: Request, handler: Handler) => Promise<Response>;

function lab(network: Network = (request, handler) => handler(request), options: HandlerOptions = {}) {
  const workflows = [order, review, mail, broken, words] as const;
  const app = createApp({ workflows, storage: new MemoryStorage(), secret: labSecret, bind: false });
  const handler = createHandler(app, { basePath: "/api", authorize: () => true, ...options });
  const sent: string[] = [];
  const send = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    sent.push(`${request.method} ${new URL(request.url).pathname.replace(/^\/api/, "")}`);
    return network(request, handler);
  };
  return { app, sent, client: createClient<typeof app>({ url, fetch: send, patienceMs: 5_000 }) };
}

describe("what a client does with runs", () => {
  test("starts one, waits for its end and reads its output, in JSON", async () => {
    const { client, app } = lab();
    const run = await client.start("order", { item: "pens", count: 3 }, { tags: { shop: "north" } });
    expect(await run.result()).toEqual({
      item: "pens",
      at: "1970-01-01T00:00:00.000Z",
      seen: ["pens"],
      big: "5",
    });
    expect(await run.outcome()).toMatchObject({ runId: run.id, status: "completed", state: "completed" });
    expect((await client.list({ tags: { shop: "north" } })).runs.map(({ runId }) => runId)).toEqual([run.id]);
    expect((await client.list({ status: "failed", workflow: "order", limit: 5 })).runs).toEqual([]);
    expect((await app.get(run.id).outcome()).status).toBe("completed");
  });

  test("answers a wait, which its result names", async () => {
    const { client } = lab();
    const run = await client.start("review", "tides", { id: "r" });
    const refused = await run.result().catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "suspended",
      message: expect.stringContaining('waits for "verdict"'),
    });
    expect(await run.report()).toEqual({ draft: "all about tides" });
    const waiting = await client.list({ waiting: true });
    expect(waiting.runs.map(({ runId }) => runId)).toEqual(["r"]);
    const { token = "" } = waitsOf(await run.outcome())[0] ?? {};
    const ended = run.result({ wait: true });
    expect(await client.resume(token, "good")).toEqual({ status: "accepted", repeated: false, runId: "r" });
    expect(await ended).toEqual({ draft: "all about tides", verdict: "good" });
    expect(await client.resume(token, "bad")).toMatchObject({ status: "duplicate" });
    expect(await client.resume("nothing", 1)).toMatchObject({ status: "unknown" });
  });

  test("sends messages, and hears what became of each", async () => {
    const { client, app } = lab();
    const run = await client.start("mail", undefined, { id: "m" });
    expect(await run.send("note", 1, { id: "one" })).toEqual({ status: "accepted", repeated: false });
    expect(await run.send("note", 1, { id: "one" })).toEqual({ status: "accepted", repeated: true });
    expect(await run.send("note", 2, { id: "one" })).toMatchObject({ status: "conflict" });
    expect(await run.send("note", "two" as never)).toMatchObject({
      status: "invalid",
      issues: expect.any(String),
    });
    await run.send("note", 2);
    // Messages are only recorded: workers and sweeps drive their runs.
    await app.sweep();
    expect(await run.result({ wait: true })).toEqual([1, 2]);
    expect(await run.send("note", 3)).toMatchObject({ status: "ended" });
    const missing = await client
      .get("no-such-run")
      .send("note" as never, 1 as never)
      .catch((error: unknown) => error);
    expect(missing).toMatchObject({ code: "not-found", status: 404 });
  });

  test("scores a run, and lists have it", async () => {
    const { client } = lab();
    const run = await client.start("review", "tides", { id: "r" });
    expect(await run.score("helpful", true, "it answers")).toEqual({ helpful: 1 });
    expect((await client.list()).runs).toMatchObject([{ runId: "r", scores: { helpful: 1 } }]);
    expect(await run.score("helpful", null)).toEqual({});
    await expect(run.score("two words", 1)).rejects.toMatchObject({ code: "invalid-options" });
  });

  test("cancels and forks", async () => {
    const { client } = lab();
    const run = await client.start("review", "tides", { id: "r" });
    await run.result().catch(() => {});
    const fork = await run.fork({ edit: { draft: "short" }, label: "shorter" });
    await expect(fork.result()).rejects.toMatchObject({ code: "suspended" });
    expect(await fork.report()).toEqual({ draft: "short" });
    expect(await run.cancel({ reason: "no time" })).toMatchObject({ status: "cancelled", reason: "no time" });
    await expect(run.result()).rejects.toMatchObject({
      code: "cancelled",
      message: "Run r was cancelled: no time.",
    });
  });

  test("says errors with the codes of the library, which DurableError.is knows", async () => {
    const { client } = lab();
    const failed = await (await client.start("broken")).result().catch((error: unknown) => error);
    expect([DurableError.is(failed, "step-failed"), ClientError.is(failed, "step-failed")]).toEqual([
      true,
      true,
    ]);
    await expect(client.get("none").outcome()).rejects.toMatchObject({ code: "not-found", status: 404 });
    await client.start("order", { item: "a", count: 1 }, { id: "o" });
    const other = client.start("order", { item: "b", count: 1 }, { id: "o" });
    await expect(other).rejects.toMatchObject({ code: "input-mismatch", status: 409 });
    expect((await client.start("order", { item: "a", count: 1 }, { id: "o" })).repeated).toBe(true);
  });

  test("says where it asked when that is no handler", async () => {
    const wrong = createClient({
      url: "http://lab.example/other/",
      fetch: async () => new Response("<h1>Not here</h1>", { status: 404 }),
    });
    await expect(wrong.get("r").outcome()).rejects.toMatchObject({
      code: "no-route",
      message: expect.stringContaining("Check the url of the client"),
    });
    const page = createClient({ url: "/", fetch: async () => new Response("<h1>Hello</h1>") });
    await expect(page.list()).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining("is not JSON"),
    });
    const { client } = lab(undefined, { basePath: "/elsewhere" });
    await expect(client.resume("token", 1)).rejects.toMatchObject({ code: "no-route" });
  });

  test("asks for its headers before each request", async () => {
    let asked = 0;
    const seen: (string | null)[] = [];
    const client = createClient({
      url,
      headers: async () => ({ authorization: `Bearer ${(asked += 1)}` }),
      fetch: async (input, init) => {
        seen.push(new Request(input, init).headers.get("authorization"));
        return Response.json({ runs: [], next: null });
      },
    });
    await client.list();
    await client.list();
    expect(seen).toEqual(["Bearer 1", "Bearer 2"]);
  });
});

describe("a connection that breaks", () => {
  /** Every request fails twice: once before the server has it, once after. */
  function bad(): Network {
    const tries = new Map<string, number>();
    return async (request, handler) => {
      const text = await request.clone().text();
      const name = `${request.method} ${request.url} ${text}`;
      const count = (tries.get(name) ?? 0) + 1;
      tries.set(name, count);
      if (count % 3 === 1) throw new TypeError("connection refused");
      const response = await handler(request);
      if (count % 3 === 2) throw new TypeError("connection reset");
      return response;
    };
  }

  test("every verb does its work once", async () => {
    const { client, app } = lab(bad());
    const run = await client.start("order", { item: "pens", count: 3 });
    expect(await run.result()).toMatchObject({ item: "pens" });
    const post = await client.start("mail");
    for (const n of [1, 2]) expect((await post.send("note", n)).status).toBe("accepted");
    await app.sweep();
    expect(await post.result({ wait: true })).toEqual([1, 2]);
    const asked = await client.start("review", "tides");
    const fork = await asked.fork({ edit: { draft: "short" } });
    await expect(fork.result()).rejects.toMatchObject({ code: "suspended" });
    expect(await fork.cancel()).toMatchObject({ status: "cancelled" });
    const { token = "" } = waitsOf(await asked.outcome())[0] ?? {};
    expect(await client.resume(token, "good")).toMatchObject({ status: "accepted" });
    expect((await app.list()).runs).toHaveLength(4);
  }, 60_000);

  test("a server that is busy is asked again, and one that refuses is not", async () => {
    let answers = [
      new Response(null, { status: 502 }),
      Response.json({ error: { code: "storage-busy", message: "Later." } }, { status: 503 }),
      Response.json({ runs: [], next: null }),
    ];
    const { client, sent } = lab(async () => answers.shift() ?? Response.error());
    expect(await client.list()).toEqual({ runs: [], next: null });
    expect(sent).toHaveLength(3);
    answers = [Response.json({ error: { code: "forbidden", message: "Not you." } }, { status: 403 })];
    await expect(client.list()).rejects.toMatchObject({ code: "forbidden", message: "Not you." });
    expect(sent).toHaveLength(4);
  });

  test("is given up after its time, with the place and the cause", async () => {
    const client = createClient({
      url,
      patienceMs: 300,
      fetch: () => Promise.reject(new TypeError("connection refused")),
    });
    const error = await client.list().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "unreachable", message: `${url}/runs? could not be reached.` });
    expect((error as Error).cause).toMatchObject({ message: "connection refused" });
  });

  test("a caller that gives up is heard at once", async () => {
    const { client } = lab(() => Promise.reject(new TypeError("connection refused")));
    const gone = new AbortController();
    const reading = client.get("r").result({ signal: gone.signal });
    gone.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});

describe("streams", () => {
  const list = ["one", { two: 2 }, "three\n\nlines", 4, null];

  test("each event comes once, wherever a connection breaks", async () => {
    for (const cut of [0, 1, 11, 12, 25, 40, 55, 80]) {
      let opened = 0;
      const { client } = lab(async (request, handler) => {
        const response = await handler(request);
        if (!request.url.includes("/streams/") || opened++ > 1 || response.body === null) return response;
        return new Response(cutAfter(response.body, cut * opened), response);
      });
      const run = await client.start("words", list);
      await run.result();
      const events = await all(run.stream("say"));
      expect(events).toEqual(list.map((value, index) => ({ type: "chunk", attempt: 1, index, value })));
      const rest = await all(run.stream("say", { from: 3 }));
      expect(rest.map((event) => event.type === "chunk" && event.value)).toEqual([4, null]);
    }
  }, 60_000);

  test("a stream that does not exist is said, and a signal ends the reading", async () => {
    const { client } = lab();
    const run = await client.start("words", list);
    await run.result();
    await expect(all(run.stream("none"))).rejects.toMatchObject({ code: "unknown-step" });
    const waits = await client.start("review", "tides");
    const gone = new AbortController();
    const reading = all(waits.stream("later", { signal: gone.signal }));
    gone.abort();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
  });

  test("parts of a model's stream are unpacked", async () => {
    const { client } = lab();
    const run = await client.start("words", [
      [0, { type: "text-start", id: "1" }],
      [3, "text-delta", "1", ["Hel", "lo"]],
      { type: "text-end", id: "1" },
    ]);
    expect(await all(run.parts("say"))).toEqual([
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "Hel" },
      { type: "text-delta", id: "1", delta: "lo" },
      { type: "text-end", id: "1" },
    ]);
  });
});

/** The first bytes of a body, and then an error. */
function cutAfter(body: ReadableStream<Uint8Array>, bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) controller.error(new TypeError("connection reset"));
    },
  });
  return body.pipeThrough(cut);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function waitsOf(outcome: ClientOutcome): readonly ClientWait[] {
  return "waiting" in outcome ? outcome.waiting : [];
}
