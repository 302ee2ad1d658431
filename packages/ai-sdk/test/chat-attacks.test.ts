/** Attacks on the chat handler, each named after what the attacker does. */

import { createApp, durable, MemoryStorage, type World } from "@durable/core";
import { expect, test } from "vitest";
import { chatStream, createChatHandler, type ChatAction, type ChatOptions } from "../src/chat/index.ts";
import { chatRoutes } from "../src/chat/routes.ts";

const origin = "https://chat.example";
const json = { "content-type": "application/json" };
const good = '{"id":"c","messages":[]}';

function lab(authorize: unknown) {
  const lines: string[] = [];
  const answer = durable("answer", (ctx) =>
    chatStream(ctx, new ReadableStream({ start: (controller) => controller.close() })),
  );
  const storage = new MemoryStorage();
  const world: World = { ...realWorld(), warn: (line) => void lines.push(line) };
  const app = createApp({
    storage,
    secret: "a secret of 32 characters, at least",
    workflows: [answer],
    world,
  });
  const handler = createChatHandler(app, {
    workflow: "answer",
    journal: { storage },
    authorize: authorize as ChatOptions["authorize"],
  });
  const ask = async (path: string, init: RequestInit = {}): Promise<number> => {
    const response = await handler(new Request(origin + path, init));
    await response.body?.cancel();
    return response.status;
  };
  return { app, lines, ask, send: (body: string, headers = {}) => ask("/api/chat", post(body, headers)) };
}

function realWorld(): World {
  const { world } = createApp({
    storage: new MemoryStorage(),
    secret: "a secret for tests, of no worth",
    workflows: [],
  });
  return world;
}

const post = (body: string, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { ...json, ...headers },
  body,
});

test.each([
  ["a string", "yes"],
  ["a string", "false"],
  ["a number", 1],
  ["an object", { allowed: false }],
  ["an object", []],
  ["an object", Object(true) as unknown],
  ["undefined", undefined],
  ["null", null],
  ["a function", () => false],
] as const)(
  "a hook that returns %s (%j) lets nobody in, and one log line names it",
  async (what, verdict) => {
    for (const hook of [() => verdict, () => Promise.resolve(verdict)]) {
      const { app, lines, ask, send } = lab(hook);
      expect(await send(good)).toBe(403);
      expect(lines).toEqual([expect.stringContaining(what)]);
      expect(lines[0]).toMatch(/authorize.*start.*"c"/);
      expect(await ask("/api/chat/c/stream")).toBe(403);
      expect(await ask("/api/chat/c/stop", { method: "POST" })).toBe(403);
      expect(lines.length).toBe(3);
      expect((await app.list()).runs).toEqual([]);
    }
  },
);

test.each(chatRoutes)(
  "$method {api}$path asks for $asks, once, and a refusal reads and writes nothing",
  async (route) => {
    const seen: ChatAction[] = [];
    const { app, ask, send } = lab((_: Request, action: ChatAction) => (seen.push(action), false));
    const path = `/api/chat${route.path.replace("{chatId}", "c")}?run=r`;
    const status = await (route.act === "send" ? send(good) : ask(path, { method: route.method }));
    expect(status).toBe(403);
    const names = { workflow: "answer", chatId: "c", runId: "r" } as Record<string, string>;
    const about = Object.fromEntries(route.names.map((name) => [name, names[name]]));
    expect(seen).toEqual([{ type: route.asks, ...about }]);
    expect((await app.list()).runs).toEqual([]);
  },
);

test("a refusal that is meant is not logged; true passes, and a Response is sent", async () => {
  const no = lab(() => false);
  expect(await no.send(good)).toBe(403);
  const missing = lab(undefined);
  expect(await missing.send(good)).toBe(403);
  const login = lab(() => new Response(null, { status: 401 }));
  expect(await login.send(good)).toBe(401);
  const yes = lab(() => true);
  expect(await yes.send(good)).toBe(200);
  expect([no.lines, missing.lines, login.lines, yes.lines]).toEqual([[], [], [], []]);
});

test("a chat id in the log line cannot begin another line", async () => {
  const { lines, ask } = lab(() => "yes");
  expect(await ask("/api/chat/c%0Adurable%3A%20all%20is%20well/stream")).toBe(403);
  expect(lines.length).toBe(1);
  expect(lines[0]).not.toContain("\n");
});

test.each([
  { "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "cross-site" },
  { origin: "https://evil.example", host: "chat.example" },
  { origin: "https://evil.example" },
  { origin: "null" },
])("a page of another origin sends and stops nothing: %j", async (headers) => {
  const { app, ask, send } = lab(() => true);
  expect(await send(good, headers)).toBe(403);
  expect(await ask("/api/chat/c/stop", { method: "POST", headers })).toBe(403);
  expect(await ask("/api/chat/c", { method: "DELETE", headers })).toBe(403);
  expect((await app.list()).runs).toEqual([]);
  expect(await ask("/api/chat/c/stream", { headers })).toBe(204);
});

test.each([{ "sec-fetch-site": "same-origin", origin }, { origin, host: "chat.example" }, { origin }, {}])(
  "a page of the same origin, and a program, may send: %j",
  async (headers) => {
    expect(await lab(() => true).send(good, headers)).toBe(200);
  },
);

test.each([
  ["deep nesting", `{"id":"c","messages":[${"[".repeat(500)}${"]".repeat(500)}]}`, 400],
  ["a depth bomb", `{"id":"c","messages":${"[".repeat(1_000_000)}`, 400],
  ["a text of brackets", JSON.stringify({ id: "c", messages: [{ text: "[".repeat(5_000) }] }), 200],
  ["many values", `{"id":"c","messages":[${"[],".repeat(1_000_000)}1]}`, 413],
  ["many members", `{"id":"c","messages":[{${'"a":1,'.repeat(400_000)}"b":1}]}`, 413],
] as const)("%s: refused before it becomes a value", async (_what, body, status) => {
  const { app, lines, send } = lab(() => true);
  const began = process.threadCpuUsage();
  expect(await send(body)).toBe(status);
  expect(process.threadCpuUsage(began).user).toBeLessThan(1_000_000);
  expect((await app.list({ workflow: "answer" })).runs.length).toBe(status === 200 ? 1 : 0);
  expect(lines).toEqual([]);
});
