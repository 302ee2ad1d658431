/** durableFetch with the clients of the providers, over a `fetch` of the test that counts. */

import { clientRetry, createApp, durable, type Context } from "@durable/core";
import { durableFetch, type FetchOptions } from "@durable/core/clients";
import { describe, expect, test, vi } from "vitest";
import { clientsOver } from "./support/clients.ts";
import { Lives, rejection } from "./support/lives.ts";
import { answerOf, eventsOf, text, wires, type Provider } from "./support/wires.ts";

const providers = Object.keys(wires) as Provider[];
const events = { headers: { "content-type": "text/event-stream" } };

/** A provider that counts its requests. */
function counting(answer: (request: number) => Response | Promise<Response>) {
  const state = { requests: 0 };
  const fetch = async (): Promise<Response> => answer(++state.requests);
  return { state, fetch };
}

/** The policy of clientRetry, without its delays. */
const retry = { ...clientRetry, delay: 1 };

type Ask = (asking: ReturnType<typeof clientsOver>[Provider]) => Promise<unknown>;

const whole: Ask = async (asking) => JSON.stringify(await asking.whole());
const streamed: Ask = async (asking) => {
  const seen: unknown[] = [];
  for await (const event of await asking.events()) seen.push(event);
  return JSON.stringify(seen);
};

const asking =
  (provider: Provider, ask: Ask, options: FetchOptions) =>
  (ctx: Context): Promise<unknown> =>
    ask(clientsOver(durableFetch(ctx, { retry, ...options }))[provider]);

describe.each(providers)("%s", (provider) => {
  test.each([
    ["whole", whole, false],
    ["streamed", streamed, true],
  ] as const)("%s: one request, the same on replay, metered, no warning", async (_, ask, streams) => {
    const lives = new Lives();
    const { state, fetch } = counting(() => answerOf(provider, streams));
    const first = await lives.live(asking(provider, ask, { fetch }));
    const second = await lives.live(asking(provider, ask, { fetch }));
    expect(first.error).toBeUndefined();
    expect(first.value).toContain(text);
    expect([second.value, state.requests]).toEqual([first.value, 1]);
    const entries = await lives.entries();
    const [usage] = entries.flatMap((entry) => ("usage" in entry ? (entry.usage ?? []) : []));
    const { bill } = wires[provider];
    expect(usage).toMatchObject({ inputTokens: bill.input + bill.cachedInput + bill.cacheWrite });
    expect(lives.warnings).toEqual([]);
  });

  test("words come before the answer is complete", async () => {
    const lives = new Lives();
    const read = Promise.withResolvers<void>();
    const { fetch } = counting(() => {
      const [first = "", ...rest] =
        eventsOf(provider).length > 1 ? eventsOf(provider) : [eventsOf(provider)[0] ?? ""];
      const body = new ReadableStream<Uint8Array>({
        start: async (to) => {
          to.enqueue(new TextEncoder().encode(first));
          // A single event, as here from Google, is an end, too.
          if (rest.length > 0) await read.promise;
          to.enqueue(new TextEncoder().encode(rest.join("")));
          to.close();
        },
      });
      return new Response(body, events);
    });
    const { error } = await lives.live(
      asking(
        provider,
        async (client) => {
          for await (const _ of await client.events()) read.resolve();
        },
        { fetch },
      ),
    );
    expect(error).toBeUndefined();
  });

  test.each([
    [500, {}, 3],
    [429, { "retry-after": "0.02" }, 3],
    [401, {}, 1],
  ] as const)("a %i is asked %#", async (status, headers, requests) => {
    const lives = new Lives();
    const { state, fetch } = counting(() => Response.json({ error: { message: "no" } }, { status, headers }));
    const first = await lives.live(asking(provider, whole, { fetch }));
    const second = await lives.live(asking(provider, whole, { fetch }));
    expect(state.requests).toBe(requests);
    expect([first.error, second.error]).toMatchObject([{ status }, { status }]);
  });

  test("a stream that is cut after its first word is asked once; before, again", async () => {
    const cut = (pieces: readonly string[]) => {
      const body = new ReadableStream<Uint8Array>(
        {
          pull: (to) => {
            const piece = pieces[sent++];
            if (piece === undefined) to.error(new TypeError("terminated"));
            else to.enqueue(new TextEncoder().encode(piece));
          },
        },
        { highWaterMark: 0 },
      );
      let sent = 0;
      return new Response(body, events);
    };
    const [first = ""] = eventsOf(provider === "Google" ? "OpenAI chat" : provider);
    for (const [pieces, requests] of [
      [[], 2],
      [[first], 1],
    ] as const) {
      const lives = new Lives();
      const { state, fetch } = counting((n) => (n === 1 ? cut(pieces) : answerOf(provider, true)));
      const body = asking(provider, streamed, { fetch });
      const before = await lives.live(body);
      const after = await lives.live(body);
      expect([state.requests, before.error === undefined]).toEqual([requests, requests === 2]);
      expect(after.value).toEqual(before.value);
      expect(String(after.error)).toBe(String(before.error));
    }
  });
});

const hello = () => Response.json({ hello: 1 });

test("nothing of a request is recorded, and no cookie", async () => {
  const lives = new Lives();
  const { fetch } = counting(
    () =>
      new Response("{}", { headers: { "content-type": "application/json", "set-cookie": "session=abc" } }),
  );
  await lives.live(async (ctx) => {
    const asked = { method: "POST", body: "a secret question", headers: { authorization: "Bearer sk-1" } };
    const response = await durableFetch(ctx, { fetch })("https://a.example/v1/x?key=sk-2&n=1", asked);
    await response.text();
  });
  const kept = JSON.stringify(await lives.entries());
  expect(kept).toContain("POST a.example v1 x ");
  for (const secret of ["secret question", "sk-1", "sk-2", "session"]) expect(kept).not.toContain(secret);
});

test("requests at once find their own records, and equal ones one each", async () => {
  const lives = new Lives();
  const { state, fetch } = counting((n) => Response.json({ n }));
  const body = async (ctx: Context) => {
    const send = durableFetch(ctx, { fetch });
    const bodies = ["a", "b", "b", "c"];
    const responses = await Promise.all(
      bodies.map((one) => send("https://a.example/", { method: "POST", body: one })),
    );
    return Promise.all(responses.map((response) => response.json()));
  };
  const first = await lives.live(body);
  expect((await lives.live(body)).value).toEqual(first.value);
  expect([state.requests, lives.warnings]).toEqual([4, []]);
});

test("bytes, an empty answer, and the fields of a response", async () => {
  const lives = new Lives();
  const bytes = Uint8Array.from({ length: 300 }, (_, i) => i);
  const { fetch } = counting((n) =>
    n === 1
      ? new Response(bytes, {
          status: 201,
          statusText: "Made",
          headers: { "content-type": "image/png", "x-a": "1" },
        })
      : new Response(null, { status: 204 }),
  );
  const body = async (ctx: Context) => {
    const send = durableFetch(ctx, { fetch });
    const image = await send("https://a.example/image");
    const { status, statusText, headers } = image;
    const none = await send("https://a.example/none");
    return [status, statusText, headers.get("x-a"), await image.bytes(), none.status, await none.text()];
  };
  const expected = [201, "Made", "1", bytes, 204, ""];
  expect((await lives.live(body)).value).toEqual(expected);
  expect((await lives.live(body)).value).toEqual(expected);
});

test("a changed request stops the run before it is sent; with `ask` it is sent", async () => {
  const lives = new Lives();
  const { state, fetch } = counting(hello);
  const body = (question: string, onChange?: "ask") => async (ctx: Context) => {
    const asked = { method: "POST", body: question };
    return (await durableFetch(ctx, { fetch, onChange })("https://a.example/", asked)).json();
  };
  await lives.live(body("one"));
  const { outcome } = await lives.live(body("two"));
  expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
  expect(outcome.status === "blocked" && outcome.error.message).toMatch(
    /recorded "POST a\.example \w+" was not made/,
  );
  expect(state.requests).toBe(1);
  expect((await lives.live(body("two", "ask"))).value).toEqual({ hello: 1 });
  expect(state.requests).toBe(2);
});

test("without a context: recorded in the run, metered in the step, sent as usual outside", async () => {
  const lives = new Lives();
  const { state, fetch } = counting(() => answerOf("Anthropic", true));
  const client = clientsOver(durableFetch({ fetch })).Anthropic;
  const body = async (ctx: Context) => [
    await streamed(client),
    await ctx.step("tool", async () => streamed(client)),
  ];
  const first = await lives.live(body);
  expect((await lives.live(body)).value).toEqual(first.value);
  expect(state.requests).toBe(2);
  const used = (await lives.entries()).flatMap((entry) => ("usage" in entry ? (entry.usage ?? []) : []));
  expect(used.map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens])).toEqual([
    [1254, 393],
    [1254, 393],
  ]);
  expect(await streamed(client)).toContain(text);
});

test("a client that repeats by itself is told so", async () => {
  const lives = new Lives();
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const { state, fetch } = counting(() => new Response("{}", { status: 500 }));
  const { default: OpenAI } = await import("openai");
  await lives.live((ctx) => {
    const client = new OpenAI({
      apiKey: "key",
      maxRetries: 1,
      fetch: durableFetch(ctx, { fetch, retry: { ...retry, attempts: 2 } }),
    });
    return rejection(client.responses.create({ model: "m", input: "Hi." }));
  });
  expect(state.requests).toBe(4);
  expect(warn.mock.calls.join()).toMatch(/Set maxRetries: 0/);
  warn.mockRestore();
});

test("a quota holds for requests", async () => {
  const { fetch } = counting(hello);
  const flow = durable("ask", async (ctx) =>
    (await durableFetch(ctx, { fetch, quota: "acme" })("https://a.example/")).json(),
  );
  const app = createApp({
    workflows: [flow],
    bind: false,
    storage: new Lives().storage,
    secret: "a secret for tests, of no worth",
    quotas: { acme: { requests: 1, per: "1 hour" } },
  });
  const outcomes = [await app.run(flow, undefined, { id: "a" }), await app.run(flow, undefined, { id: "b" })];
  expect(outcomes.map(({ status }) => status)).toEqual(["completed", "suspended"]);
});
