/** The chats of a user, and the end of one: under the policy, with encryption, on several storages. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createApp,
  durable,
  MemoryStorage,
  type AppOptions,
  type Context,
  type Storage,
} from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { FolderBucket } from "@durable/core/folder";
import { RemoteStorage } from "@durable/core/remote";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterEach, describe, expect, inject, test } from "vitest";
import {
  chatMessages,
  chatStream,
  createChatHandler,
  deleteChat,
  listChats,
  type ChatAction,
  type ChatInput,
  type ChatPage,
} from "../src/chat/index.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "chat-list-"));
  cleanUps.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const parts = [
  { type: "start" },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "an answer" },
  { type: "text-end", id: "0" },
  { type: "finish" },
];

const child = durable("child", (ctx: Context) => ctx.suspend("never"));

interface LabParts {
  readonly storage: Storage;
  readonly encryption?: NonNullable<AppOptions["encryption"]>;
  readonly refuses?: (action: ChatAction) => boolean;
}

/** Users say who they are in a header. */
function lab({ storage, encryption, refuses = () => false }: LabParts) {
  const answer = durable("answer", async (ctx, { body }: ChatInput) => {
    await chatStream(
      ctx,
      new ReadableStream({ start: (to) => (parts.forEach((part) => to.enqueue(part)), to.close()) }),
    );
    if (body["waits"] === true) await ctx.child(child, undefined);
  });
  const app = createApp({
    storage,
    ...(encryption === undefined ? {} : { encryption }),
    secret: "a secret for tests, of no worth",
    workflows: [answer, child],
  });
  const seen: ChatAction[] = [];
  const handler = createChatHandler(app, {
    workflow: "answer",
    keepAlive: 200,
    authorize: (request, action) => {
      seen.push(action);
      const scope = request.headers.get("user");
      return refuses(action) ? false : scope === null || { scope };
    },
  });
  const ask = (method: string, path = "", scope: string | null = null, body?: object): Promise<Response> =>
    handler(
      new Request(`http://chat/api/chat${path}`, {
        method,
        headers: { "content-type": "application/json", ...(scope === null ? {} : { user: scope }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  let messages = 0;
  const say = async (
    id: string,
    text: string,
    scope: string | null = null,
    more: object = {},
  ): Promise<void> => {
    const message = { id: `u${++messages}`, role: "user", parts: [{ type: "text", text }] };
    const response = await ask("POST", "", scope, { id, message, ...more });
    expect(response.status).toBe(200);
    if (Object.keys(more).length === 0) await response.text();
    else await response.body?.cancel();
  };
  const list = async (scope: string | null = null, query = ""): Promise<ChatPage> =>
    (await ask("GET", query, scope)).json() as Promise<ChatPage>;
  return { app, seen, ask, say, list };
}

const titles = ({ chats }: ChatPage): string[] => chats.map(({ title }) => title);

const storages: [string, () => Storage][] = [
  ["memory", () => new MemoryStorage()],
  ["sqlite", () => new SqliteStorage(join(folder(), "j.db"))],
  ["a bucket", () => new RemoteStorage(new FolderBucket(folder()))],
];
// A reader of a bucket looks once a second, so an answer takes that long.
describe.each(storages.slice(0, inject("full") ? 3 : 2))("on %s", (_, open) => {
  test("each user has their own chats, the latest first, page by page", async () => {
    const { app, say, list } = lab({ storage: open() });
    for (let n = 1; n <= 5; n++) await say(`a${n}`, `question ${n}`, "anna");
    await say("a1", "more", "anna");
    await say("b1", "of Ben", "ben");
    await say("c1", "of nobody");
    const first = await listChats(app, "answer", { scope: "anna", limit: 3 });
    expect(titles(first)).toEqual(["question 5", "question 4", "question 3"]);
    const second = await list("anna", `?cursor=${first.cursor ?? ""}`);
    expect([titles(second), second.cursor]).toEqual([["question 2", "question 1"], null]);
    expect((await list("anna")).chats).toEqual([...first.chats, ...second.chats]);
    const oldest = second.chats.at(-1);
    expect(oldest?.updatedAt).toBeGreaterThanOrEqual(oldest?.startedAt ?? Infinity);
    expect(titles(await list("ben"))).toEqual(["of Ben"]);
    expect(titles(await list())).toEqual(["of nobody"]);
    expect(await listChats(app, "other", { scope: "anna" })).toEqual({ chats: [], cursor: null });
  });

  test("a chat that is deleted has no runs, no messages and no place in the list, also while it waits", async () => {
    const { app, ask, say, list } = lab({ storage: open() });
    await say("one", "stays");
    await say("two", "goes");
    await say("two", "waits", null, { waits: true });
    const children = async (): Promise<number> => {
      const { runs } = await app.list({ workflow: "answer" });
      const lists = await Promise.all(runs.map(({ runId }) => app.list({ parent: runId })));
      return lists.flatMap((one) => one.runs).length;
    };
    while ((await children()) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await ask("DELETE", "/two")).status).toBe(204);
    expect(titles(await list())).toEqual(["stays"]);
    expect((await app.list({ workflow: "answer" })).runs).toHaveLength(1);
    expect(await children()).toBe(0);
    expect(await chatMessages(app, "two")).toEqual({ messages: [], answers: [] });
    // A deletion that was interrupted is completed by the next one, and one of nothing does nothing.
    await deleteChat(app, "two");
    await say("two", "again");
    expect((await chatMessages(app, "two")).messages).toHaveLength(2);
  });
});

test.each([
  [{ cursor: "next" }, /the cursor "next"/],
  [{ cursor: "-1" }, /the cursor "-1"/],
  [{ cursor: "" }, /the cursor ""/],
  [{ limit: 0 }, /the limit 0/],
  [{ limit: Number.NaN }, /the limit NaN/],
])("a list with %j is refused", async (options, message) => {
  const { app } = lab({ storage: new MemoryStorage() });
  const list = listChats(app, "answer", options);
  await expect(list).rejects.toMatchObject({
    code: "invalid-options",
    message: expect.stringMatching(message),
  });
});

test("the list is sealed", async () => {
  const path = folder();
  const storage = new RemoteStorage(new FolderBucket(path));
  const encryption = aesGcm({ current: "k", keys: { k: crypto.getRandomValues(new Uint8Array(32)) } });
  const { say, list } = lab({ storage, encryption });
  await say("chat-of-canary", "the canary sings", "anna");
  expect(titles(await list("anna"))).toEqual(["the canary sings"]);
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  expect(files.length).toBeGreaterThan(0);
  // The scope of a run stays readable, because lists and shares go by it.
  for (const file of files)
    expect(readFileSync(join(file.parentPath, file.name), "latin1")).not.toMatch(/canary/);
});

test("the policy is asked about the list, each chat of it, and each run that is deleted", async () => {
  const refused = new Set<string>();
  const { seen, ask, say, list, app } = lab({
    storage: new MemoryStorage(),
    refuses: ({ type, chatId = "", runId = "" }) => refused.has(`${type} ${chatId}${runId && " of a run"}`),
  });
  await say("c1", "one");
  await say("c2", "two");
  refused.add("read c2");
  expect(titles(await list())).toEqual(["one"]);
  expect((await ask("GET", "/c2/messages")).status).toBe(403);
  refused.add("delete c1 of a run");
  seen.length = 0;
  expect((await ask("DELETE", "/c1")).status).toBe(403);
  expect(seen.map(({ type, chatId, runId }) => [type, chatId, runId !== undefined])).toEqual([
    ["delete", "c1", false],
    ["delete", "c1", true],
  ]);
  expect((await chatMessages(app, "c1")).messages).toHaveLength(2);
  refused.add("list ");
  expect((await ask("GET")).status).toBe(403);
});

test.each([
  ["  When does\n the tide turn? ", "When does the tide turn?"],
  ["word ".repeat(40), `${"word ".repeat(12).trim()}…`],
  ["x".repeat(200), `${"x".repeat(60)}…`],
  ["🌊".repeat(80), `${"🌊".repeat(60)}…`],
  ["", ""],
])("the title of %j", async (text, title) => {
  const { say, list } = lab({ storage: new MemoryStorage() });
  await say("c", text);
  expect(titles(await list())).toEqual([title]);
});
