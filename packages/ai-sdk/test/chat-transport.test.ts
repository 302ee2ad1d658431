/** The transport that reconnects by itself, with the real `Chat`, over HTTP. */

import { fileURLToPath } from "node:url";
import { MemoryStorage } from "@durable/core";
import type { ChatTransport, UIMessage } from "ai";
import type { ChatTransport as ChatTransport5, UIMessage as UIMessage5 } from "ai-5";
import type { ChatTransport as ChatTransport6, UIMessage as UIMessage6 } from "ai-6";
import { build } from "esbuild";
import { afterEach, describe, expect, test } from "vitest";
import { durableChatTransport, type ChatTransportOptions } from "../src/chat/client.ts";
import { ChatClient, ChatClient5, ChatClient6 } from "./support/chat-client.ts";
import { Provider } from "./support/provider.ts";
import { RealChat, reconnecting, shown, Wire } from "./support/real-chat.ts";
import { roundsServer, scripted } from "./support/rounds-server.ts";

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function lab(paceMs = 0) {
  const provider = await Provider.open(scripted);
  provider.paceMs = paceMs;
  const effects: string[] = [];
  const parts = {
    storage: new MemoryStorage(),
    provider: provider.url,
    effect: (...what: string[]) => void effects.push(what.join(" ")),
  };
  const server = await roundsServer(parts);
  cleanUps.push(
    () => provider.close(),
    () => server.close(),
  );
  const wire = new Wire(server.api);
  const statuses = async (): Promise<string[]> =>
    (await server.app.list({ workflow: "answer" })).runs.map(({ status }) => status);
  const chat = new RealChat(wire, { transport: reconnecting(wire) });
  return { provider, effects, server, wire, statuses, chat, parts };
}

const soon = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 5));
const words = Array.from({ length: 12 }, (_, i) => `w-${i}`).join(" ");
const answerTo = (question: string): string => `assistant: step-start "${question}: ${words} end."`;

describe("a connection that breaks", () => {
  test("H48 is opened again at the place that was reached, as often as it takes", async () => {
    const { wire, chat, provider } = await lab();
    const seen: string[] = [];
    chat["~registerStatusCallback"](() => seen.push(chat.status));
    provider.allowed = 3;
    const sent = chat.sendMessage({ text: "one" });
    for (const [cuts, word] of [0, 3, 6].entries()) {
      await chat.until(({ texts }) => texts[0]?.includes(`-${word}`) === true);
      wire.cut();
      while (wire.streams.length <= cuts) await soon();
      provider.allowed = 3;
    }
    provider.allowed = Infinity;
    await sent;
    expect(shown(chat.messages)).toEqual([`user: "one"`, answerTo("one")]);
    expect(seen).toEqual(["submitted", "streaming", "ready"]);
    expect(wire.posts).toBe(1);
    expect(wire.streams.length).toBe(3);
    for (const url of wire.streams) expect(url).toMatch(/^\/c1\/stream\?run=chat-\w+-\w+&from=1\.[1-9]\d*$/);
    expect(provider.requests.length).toBe(1);
  });

  test.each(["locate", "pay"])("in any round of %s: one message, each tool once", async (name) => {
    const { wire, chat, effects, statuses } = await lab(5);
    let cuts = 0;
    const cutTexts = new Set<string>();
    chat["~registerMessagesCallback"](() => {
      const key = `${chat.texts.length}`;
      if (chat.status !== "streaming" || cutTexts.has(key)) return;
      cutTexts.add(key);
      cuts += 1;
      wire.cut();
    });
    await chat.sendMessage({ text: `${name} it` });
    await chat.answerAll();
    const round = (n: number): string => `step-start "Round ${n}." tool-${name}=output-available`;
    expect(shown(chat.messages)).toEqual([
      `user: "${name} it"`,
      `assistant: ${round(1)} ${round(2)} step-start "${name} it: ${words} end."`,
    ]);
    expect(cuts).toBeGreaterThanOrEqual(3);
    expect(effects.length).toBe(name === "pay" ? 2 : 0);
    expect(await statuses()).toEqual(["completed", "completed", "completed"]);
  });

  test("while its server is away: the page goes on when another one is there", async () => {
    const { wire, chat, server, parts, provider } = await lab();
    provider.allowed = 5;
    const sent = chat.sendMessage({ text: "one" });
    await chat.until(({ texts }) => texts[0]?.includes("-2") === true);
    wire.api = "http://127.0.0.1:9/api/chat";
    wire.cut();
    while (wire.streams.length < 3) await soon();
    provider.allowed = Infinity;
    const other = await roundsServer(parts);
    cleanUps.push(() => other.close());
    wire.api = other.api;
    await sent;
    expect(shown(chat.messages)).toEqual([`user: "one"`, answerTo("one")]);
    expect(chat.error).toBe(undefined);
    expect(server.api).not.toBe(other.api);
  });

  test("before the answer to a request: the request is repeated, and starts one run", async () => {
    const { wire, chat, statuses } = await lab();
    const real = wire.fetch;
    let lost = 0;
    const losing: typeof fetch = async (input, init) => {
      const response = await real(input, init);
      if (init?.method !== "POST" || lost++ % 2 === 1) return response;
      await response.body?.cancel();
      throw new TypeError("fetch failed");
    };
    const fragile = new RealChat(wire, { transport: reconnecting(wire, "plain", { fetch: losing }) });
    await fragile.sendMessage({ text: "one" });
    const first = fragile.texts[0];
    await fragile.regenerate();
    expect(fragile.texts[0]).not.toBe(first);
    expect(shown(fragile.messages)).toEqual([`user: "one"`, answerTo("one")]);
    expect(lost).toBe(4);
    expect(await statuses()).toEqual(["completed", "completed"]);
    expect(chat.messages).toEqual([]);
  });

  test("after a reload: the answer is loaded, also with the rounds before it, and goes on", async () => {
    const { wire, chat } = await lab(15);
    await chat.sendMessage({ text: "locate it" });
    void chat.answerAll();
    const last = new Promise<void>((resolve) => {
      chat["~registerMessagesCallback"](() => {
        if (chat.texts.length === 3) resolve();
      });
    });
    await last;
    const page = new RealChat(wire, {
      messages: structuredClone(chat.messages),
      transport: reconnecting(wire),
    });
    const resumed = page.resumeStream();
    await page.until(({ texts }) => texts[2]?.includes("-2 ") === true);
    wire.cut();
    await resumed;
    expect(page.messages.length).toBe(2);
    expect(page.isComplete).toBe(true);
    expect(page.texts.slice(0, 2)).toEqual(["Round 1.", "Round 2."]);
  });

  test.each([
    ["5", ChatClient5],
    ["6", ChatClient6],
    ["7", ChatClient],
  ] as const)("with the client of version %s", async (_, Client) => {
    const { wire, provider } = await lab();
    provider.allowed = 6;
    const transport = reconnecting(wire) as unknown as ChatTransport<UIMessage>;
    const client = new Client("", { transport });
    const sent = client.sendMessage({ text: "one" });
    await client.until((text) => text.includes("-3"));
    wire.cut();
    provider.allowed = Infinity;
    await sent;
    expect(shown(client.messages)).toEqual([`user: "one"`, answerTo("one")]);
    expect(provider.requests.length).toBe(1);
  });
});

describe("stop", () => {
  test("stops the run, for all viewers; a page that is closed does not", async () => {
    const { wire, chat, statuses, server, provider } = await lab();
    provider.allowed = 5;
    const sent = chat.sendMessage({ text: "one" });
    await chat.until(({ texts }) => texts[0]?.includes("-2") === true);
    // A page that looks on, and is closed.
    const stream = await reconnecting(wire).reconnectToStream<unknown>({ chatId: "c1" });
    await stream?.cancel();
    const watching = fetch(`${server.api}/c1/stream`).then((response) => response.text());
    provider.allowed = 2;
    await chat.until(({ texts }) => texts[0]?.includes("-4") === true);
    expect(await statuses()).toEqual(["running"]);
    await chat.stop();
    await sent;
    expect(await watching).toContain('{"type":"abort"}');
    expect(await statuses()).toEqual(["cancelled"]);
    expect(wire.requests.at(-1)?.url).toMatch(/^\/c1\/stop\?run=chat-/);
    expect(chat.status).toBe("ready");
    provider.allowed = Infinity;
    const other = new RealChat(wire, { messages: chat.messages.slice(0, 1), transport: reconnecting(wire) });
    await other.sendMessage({ text: "two" });
    expect(other.isComplete).toBe(true);
  });

  test("before the run is known stops it as soon as it is", async () => {
    const { wire, statuses, provider } = await lab();
    provider.allowed = 5;
    let answered = (): void => {};
    const held = new Promise<void>((resolve) => (answered = resolve));
    let asked = (): void => {};
    const asking = new Promise<void>((resolve) => (asked = resolve));
    const slow: typeof fetch = async (input, init) => {
      const response = await wire.fetch(input, init);
      if (init?.method === "POST" && input === "http://chat") {
        asked();
        await held;
      }
      return response;
    };
    const chat = new RealChat(wire, { transport: reconnecting(wire, "plain", { fetch: slow }) });
    const sent = chat.sendMessage({ text: "one" });
    await asking;
    await chat.stop();
    await sent;
    expect(chat.status).toBe("ready");
    answered();
    while ((await statuses())[0] !== "cancelled") await soon();
  });

  test("is not meant by a reconnect that another one replaces, nor with `stopOnAbort: false`", async () => {
    const { wire, chat, statuses, provider } = await lab();
    provider.allowed = 5;
    const transport = reconnecting(wire, "plain", { stopOnAbort: false });
    const sent = chat.sendMessage({ text: "one" });
    await chat.until(({ texts }) => texts[0]?.includes("-1") === true);
    const page = new RealChat(wire, { messages: chat.messages.slice(0, 1), transport: reconnecting(wire) });
    const first = page.resumeStream();
    await page.until(({ texts }) => texts.length > 0);
    // As React does in its strict mode.
    const second = page.resumeStream();
    const reader = new RealChat(wire, { messages: chat.messages.slice(0, 1), transport });
    const reading = reader.resumeStream();
    await reader.until(({ texts }) => texts.length > 0);
    await reader.stop();
    provider.allowed = Infinity;
    await Promise.all([sent, first, second, reading]);
    expect(await statuses()).toEqual(["completed"]);
    expect(page.messages).toEqual(chat.messages);
    await transport.stop("c1");
    expect(wire.requests.at(-1)?.url).toBe("/c1/stop");
  });
});

/** A server of prepared responses. */
function prepared(responses: readonly (Response | Error | string)[], options: ChatTransportOptions = {}) {
  const asked: { readonly url: string; readonly init: RequestInit }[] = [];
  const left = [...responses];
  const transport = durableChatTransport({
    retry: { firstMs: 1, mostMs: 2, times: 3 },
    fetch: (url, init) => {
      asked.push({ url: url as string, init: init ?? {} });
      const next = left.shift() ?? new TypeError("fetch failed");
      if (next instanceof Error) return Promise.reject(next);
      const headers = { "x-durable-run-id": "r" };
      return Promise.resolve(typeof next === "string" ? new Response(next, { headers }) : next);
    },
    ...options,
  });
  const send = async (): Promise<string[]> => {
    const stream = await transport.sendMessages<{ readonly type: string }>({
      chatId: "c/1",
      trigger: "submit-message",
      messages: [],
    });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    return types;
  };
  return { transport, asked, send };
}

const event = (type: string, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify({ type })}\n\n`;
const done = "data: [DONE]\n\n";

describe("with prepared responses", () => {
  test("a part without a place comes with the next one that has one, or not at all", async () => {
    const { send, asked } = prepared([
      `${event("start", "1.0")}${event("a")}`,
      `${event("b")}${event("c", "2.4")}: still here\n\n`,
      event("finish", "2.5"),
    ]);
    expect(await send()).toEqual(["start", "b", "c", "finish"]);
    expect(asked.map(({ url }) => url)).toEqual([
      "/api/chat",
      "/api/chat/c%2F1/stream?run=r&from=1.1",
      "/api/chat/c%2F1/stream?run=r&from=2.5",
    ]);
  });

  test.each(["finish", "abort", "error"])(
    "%s is the end, if the connection breaks after it",
    async (type) => {
      const { send, asked } = prepared([`${event("start", "1.0")}${event(type, "1.1")}`]);
      expect(await send()).toEqual(["start", type]);
      expect(asked.length).toBe(1);
    },
  );

  test("more may come after a finish while the connection is open; line ends and pieces do not matter", async () => {
    const text = `${event("finish", "1.0")}${event("b", "1.1")}${done}`.replaceAll("\n", "\r\n");
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const { send } = prepared([new Response(body, { headers: { "x-durable-run-id": "r" } })]);
    expect(await send()).toEqual(["finish", "b"]);
  });

  test("a server that is only overloaded is asked again, another refusal is told", async () => {
    const busy = (): Response => new Response("", { status: 503 });
    const { send, asked } = prepared([busy(), new TypeError("fetch failed"), busy(), done]);
    expect(await send()).toEqual([]);
    const keys = asked.map(({ init }) => new Headers(init.headers).get("idempotency-key"));
    expect(keys.length).toBe(4);
    expect(new Set(keys).size).toBe(1);
    for (const status of [400, 403, 409, 500]) {
      const refused = prepared([new Response("no, because", { status })]);
      await expect(refused.send()).rejects.toThrow("no, because");
      expect(refused.asked.length).toBe(1);
    }
  });

  test("after the last try the client hears of a lost connection, which it can resume", async () => {
    const { send, asked } = prepared([event("start", "1.0")]);
    await expect(send()).rejects.toThrow(TypeError);
    expect(asked.length).toBe(4);
    const silent = prepared([], {});
    await expect(silent.send()).rejects.toThrow("fetch failed");
  });

  test("an answer that changed must be loaded again: the client hears it as a lost connection", async () => {
    for (const rest of [": changed\n\n", new Response(null, { status: 204 })]) {
      const { send } = prepared([event("start", "1.0"), rest]);
      await expect(send()).rejects.toThrow(/network error: the answer has changed.*resumeStream/);
    }
    const conflict = prepared([event("start", "1.0"), new Response("changed", { status: 409 })]);
    await expect(conflict.send()).rejects.toThrow("changed");
  });

  test("a connection that says nothing for long is opened again", async () => {
    const open = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(event("start", "1.0"))),
    });
    const first = new Response(open, { headers: { "x-durable-run-id": "r" } });
    const { send } = prepared([first, `${event("finish", "1.1")}${done}`], { quietMs: 300 });
    expect(await send()).toEqual(["start", "finish"]);
  });

  test("nothing to resume is null; a resumed answer that had not begun is resumed from its beginning", async () => {
    expect(
      await prepared([new Response(null, { status: 204 })]).transport.reconnectToStream({ chatId: "c" }),
    ).toBe(null);
    const { transport, asked } = prepared([event("start"), `${event("start", "1.0")}${done}`]);
    const stream = await transport.reconnectToStream<{ readonly type: string }>({ chatId: "c" });
    const types: string[] = [];
    for await (const { type } of stream ?? []) types.push(type);
    expect(types).toEqual(["start"]);
    expect(asked.map(({ url }) => url)).toEqual(["/api/chat/c/stream", "/api/chat/c/stream"]);
  });

  test("headers, credentials and fields of the page are sent with every request", async () => {
    const { send, asked } = prepared([event("start", "1.0"), done], {
      api: "/chat?tenant=1",
      headers: () => ({ authorization: "Bearer t" }),
      credentials: "include",
      body: () => Promise.resolve({ model: "small" }),
    });
    await send();
    expect(asked.map(({ url }) => url)).toEqual([
      "/chat?tenant=1",
      "/chat/c%2F1/stream?tenant=1&run=r&from=1.1",
    ]);
    for (const { init } of asked) {
      expect(new Headers(init.headers).get("authorization")).toBe("Bearer t");
      expect(init.credentials).toBe("include");
    }
    expect(JSON.parse(asked[0]?.init.body as string)).toEqual({
      id: "c/1",
      messages: [],
      trigger: "submit-message",
      model: "small",
    });
  });
});

test("it is a transport for the clients of versions 5, 6 and 7", () => {
  const transport = durableChatTransport();
  const all = [
    transport satisfies ChatTransport5<UIMessage5>,
    transport satisfies ChatTransport6<UIMessage6>,
    transport satisfies ChatTransport<UIMessage>,
  ];
  expect(all.every(({ resumeStreamIsReplay }) => resumeStreamIsReplay)).toBe(true);
});

test("it imports nothing but itself, so that a page can have it", async () => {
  const entry = fileURLToPath(new URL("../src/chat/client.ts", import.meta.url));
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: "browser",
    format: "esm",
    logLevel: "silent",
  });
  const inputs = Object.keys(metafile.inputs).map((path) => path.split("/").at(-1));
  expect(new Set(inputs)).toEqual(new Set(["client.ts", "requests.ts", "sse.ts"]));
});
