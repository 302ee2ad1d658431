import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MemoryStorage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterEach, describe, expect, inject, test } from "vitest";
import { ChatClient, ChatClient6 } from "./support/chat-client.ts";
import { chatServer, talker, type ChatServerParts } from "./support/chat-server.ts";
import { Provider } from "./support/provider.ts";

const whole = /^Let me look\.\|w(\d+)-0 (?:w\1-\d+ ){23}end\.$/;
const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function provider(paceMs: number): Promise<Provider> {
  const opened = await Provider.open(talker);
  opened.paceMs = paceMs;
  cleanUps.push(() => opened.close());
  return opened;
}

async function server(parts: Partial<ChatServerParts> & { readonly provider: string }) {
  const opened = await chatServer({ storage: new MemoryStorage(), ran: () => {}, ...parts });
  cleanUps.push(() => opened.close());
  return opened;
}

/** One answer, from its first word to its last, and nothing twice. */
function expectClean(client: ChatClient): void {
  expect(client.answer).toMatch(whole);
  expect(client.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(client.lastMessage?.parts.filter(({ type }) => type === "tool-look")).toMatchObject([
    { state: "output-available", output: "found" },
  ]);
  expect(client.status).toBe("ready");
}

const halfway = (text: string): boolean => /w\d+-8/.test(text);

describe("one server", () => {
  test("H48 a client that is cut off comes back, a second one looks on: one clean message each", async () => {
    const model = await provider(40);
    const { api } = await server({ provider: model.url });
    const first = new ChatClient(api);
    const sent = first.sendMessage({ text: "?" });
    await first.until(halfway);
    const second = new ChatClient(api, { messages: first.messages.slice(0, 1) });
    const watching = second.resumeStream();
    first.cut();
    await sent;
    expect(first.answer).not.toMatch(whole);
    await first.resumeStream();
    await watching;
    expectClean(first);
    expectClean(second);
    expect(second.lastMessage?.id).toBe(first.lastMessage?.id);
    expect(model.requests).toHaveLength(2);
  });

  test("an answer that ended while its reader was away is there for a while, and then 204", async () => {
    const model = await provider(2);
    const now = { grace: 60_000 };
    const { api } = await server({ provider: model.url, options: now });
    const client = new ChatClient(api);
    const sent = client.sendMessage({ text: "?" });
    await client.until((text) => text.includes("look"));
    client.cut();
    await sent;
    await client.resumeStream();
    await client.resumeStream();
    expectClean(client);
    const { api: later } = await server({ provider: model.url, options: { grace: 0 } });
    expect((await fetch(`${later}/c1/stream`)).status).toBe(204);
    expect((await fetch(`${api}/unknown/stream`)).status).toBe(204);
  });

  test("stop ends the answer for every viewer; the next message gets its own answer", async () => {
    const model = await provider(40);
    const { api, app } = await server({ provider: model.url });
    const client = new ChatClient(api);
    const sent = client.sendMessage({ text: "?" });
    await client.until(halfway);
    const watching = fetch(`${api}/c1/stream`).then((response) => response.text());
    expect((await fetch(`${api}/c1/stop`, { method: "POST" })).status).toBe(204);
    await sent;
    expect((await watching).endsWith('data: {"type":"abort"}\n\ndata: [DONE]\n\n')).toBe(true);
    expect(client.answer).not.toMatch(whole);
    const { runs } = await app.list({ workflow: "answer" });
    expect(runs.map(({ status }) => status)).toEqual(["cancelled"]);
    model.paceMs = 0;
    await client.sendMessage({ text: "again?" });
    expect(client.answer).toMatch(/^w\d+-0 .* end\.$/);
    expect(client.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  test("a message that is sent twice has one run; asked for another answer, it gets one", async () => {
    const model = await provider(0);
    const { api, app } = await server({ provider: model.url });
    const body = JSON.stringify({
      id: "c2",
      trigger: "submit-message",
      messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "?" }] }],
    });
    const post = async (text: string): Promise<string> => {
      const headers = { "content-type": "application/json" };
      const reply = await (await fetch(api, { method: "POST", headers, body: text })).text();
      // A slow machine gets a sign of life before the first chunk.
      return reply.replaceAll(": still here\n\n", "");
    };
    const [one, two] = [await post(body), await post(body)];
    expect(two).toBe(one);
    expect(one.endsWith("data: [DONE]\n\n")).toBe(true);
    expect((await app.list({ workflow: "answer" })).runs).toHaveLength(1);
    const other = await post(body.replace("submit-message", "regenerate-message"));
    expect(other).not.toBe(one);
    expect((await app.list({ workflow: "answer" })).runs).toHaveLength(2);
    // An old message that comes once more is not the last one for that.
    expect(await post(body)).toBe(one);
    expect(await (await fetch(`${api}/c2/stream`)).text()).toBe(other);
  });

  test("what is not asked properly, or by the wrong one, is refused", async () => {
    const model = await provider(0);
    const { handler } = await server({ provider: model.url, options: { bodyBytes: 100 } });
    const closed = await server({ provider: model.url, options: { authorize: () => false } });
    const ask = async (path: string, init: RequestInit = {}, to = handler): Promise<number> =>
      (await to(new Request(`http://localhost${path}`, init))).status;
    const json = { "content-type": "application/json" };
    const post = (body: string, headers: Record<string, string> = json): RequestInit => ({
      method: "POST",
      headers,
      body,
    });
    const good = '{"id":"c","messages":[]}';
    expect(await ask("/api/chat", { method: "PUT" })).toBe(405);
    expect(await ask("/api/chat/c")).toBe(405);
    expect(await ask("/api/chat?cursor=-1")).toBe(400);
    for (const body of ['{"id":"c"}', '{"id":"c","message":"hi"}', '{"id":"c","message":null}'])
      expect(await ask("/api/chat", post(body))).toBe(400);
    expect(await ask("/api/chat/c/stream", { method: "POST" })).toBe(405);
    expect(await ask("/api/chatter")).toBe(404);
    expect(await ask("/api/chat/%FF/stream")).toBe(400);
    expect(await ask("/api/chat", post("{"))).toBe(400);
    expect(await ask("/api/chat", post('{"id":1,"messages":[]}'))).toBe(400);
    expect(await ask("/api/chat", post(good, {}))).toBe(415);
    expect(await ask("/api/chat", post(`{"id":"${"c".repeat(100)}","messages":[]}`))).toBe(413);
    expect(await ask("/api/chat", post(good, { ...json, "sec-fetch-site": "cross-site" }))).toBe(403);
    expect(await ask("/api/chat", post(good), closed.handler)).toBe(403);
    expect(await ask("/api/chat/c/stream", {}, closed.handler)).toBe(403);
    expect(await ask("/api/chat/c/stop", { method: "POST" }, closed.handler)).toBe(403);
    expect(model.requests).toHaveLength(0);
  });
});

describe("a producer that is killed", () => {
  const program = fileURLToPath(new URL("./support/chat-child.ts", import.meta.url));
  const root = fileURLToPath(new URL("../../..", import.meta.url));

  function child(...args: readonly string[]): ChildProcess {
    const started = spawn(process.execPath, ["--conditions=durable-source", program, ...args], {
      cwd: root,
      env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node-compile") },
      stdio: ["ignore", "pipe", "inherit"],
    });
    cleanUps.push(() => started.kill("SIGKILL"));
    return started;
  }

  function place(): { readonly journal: string; readonly effects: string; readonly looks: () => number } {
    const folder = mkdtempSync(join(tmpdir(), "ai-sdk-chat-"));
    cleanUps.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    const effects = join(folder, "effects.txt");
    const looks = (): number =>
      existsSync(effects) ? readFileSync(effects, "utf8").split("\n").length - 1 : 0;
    return { journal: join(folder, "journal.db"), effects, looks };
  }

  const firstLine = (started: ChildProcess): Promise<string> =>
    new Promise((resolve) => started.stdout?.once("data", (text: Buffer) => resolve(text.toString().trim())));

  // In `npm test`, chat-kills.test.ts kills servers under pages that come back.
  test.runIf(inject("full"))(
    "H47 with its server: the client comes back to another one",
    { timeout: 300_000 },
    async () => {
      const model = await provider(40);
      const { journal, effects, looks } = place();
      const serving = child(journal, model.url, effects);
      const client = new ChatClient(await firstLine(serving));
      const sent = client.sendMessage({ text: "?" });
      await client.until(halfway);
      serving.kill("SIGKILL");
      await sent;
      const api = await firstLine(child(journal, model.url, effects));
      const back = new ChatClient(api, { messages: client.messages });
      await back.resumeStream();
      expectClean(back);
      expect(looks()).toBe(1);
      expect(model.requests).toHaveLength(3);
    },
  );

  test.each([
    ["gets a reset of the step", ChatClient, "reset-step", 1],
    ["of version 6 comes back for all of it", ChatClient6, "close", 2],
  ] as const)(
    "H47 behind a server that stays up: a connected viewer %s, and ends with one clean message",
    { timeout: 300_000 },
    async (_, Client, onReset, connections) => {
      const model = await provider(40);
      const { journal, effects, looks } = place();
      const storage = new SqliteStorage(journal);
      cleanUps.push(() => storage.close());
      const { api } = await server({ storage, provider: model.url, options: { onReset } });
      // Another process drives the run; this one only shows it until the driver is gone.
      const serving = child(journal, model.url, effects);
      const sender = new ChatClient(await firstLine(serving));
      void sender.sendMessage({ text: "?" });
      await sender.until((text) => text.includes("look"));
      const client = new Client(api, { messages: sender.messages.slice(0, 1) });
      const watching = client.resumeStream();
      await client.until(halfway);
      serving.kill("SIGKILL");
      await watching;
      if (onReset === "close") await client.resumeStream();
      expectClean(client);
      expect(client.connections).toHaveLength(connections);
      expect(looks()).toBe(1);
      expect(model.requests).toHaveLength(3);
    },
  );
});
