/** Which requests are the same, told by what they ask. */

import { createApp, durable, Journal, MemoryStorage } from "@durable/core";
import { fingerprint } from "@durable/core/storage";
import { expect, test } from "vitest";
import { chatStream, createChatHandler, type ChatInput } from "../src/chat/index.ts";

/** A program whose answers are numbered, and may wait or fail. */
function lab(storage = new MemoryStorage()) {
  let answers = 0;
  const state = { fails: false, wait: Promise.resolve() };
  const answer = durable("answer", async (ctx, _input: ChatInput) => {
    const number = await ctx.step("number", () => (answers += 1));
    await chatStream(
      ctx,
      new ReadableStream({
        start: async (controller) => {
          controller.enqueue({ type: "start" });
          await state.wait;
          if (state.fails) return controller.error(new Error("out of words"));
          controller.enqueue({ type: "data-answer", data: number });
          controller.close();
        },
      }),
    );
  });
  const app = createApp({ storage, secret: "a secret for tests, of no worth", workflows: [answer] });
  const authorize = (): boolean => true;
  const handler = createChatHandler(app, { workflow: "answer", journal: { storage }, authorize });
  const request = (body: object, key?: string): Promise<Response> =>
    handler(
      new Request("http://localhost/api/chat", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        body: JSON.stringify({ id: "c", trigger: "submit-message", messages: [user("hi")], ...body }),
      }),
    );
  /** The number of the answer; `null` when it failed or was stopped. */
  const ask = async (body: object, key?: string): Promise<number | null> =>
    numberIn(await request(body, key));
  const get = async (path: string): Promise<Response> =>
    handler(new Request(`http://localhost/api/chat${path}`));
  const runs = async (): Promise<number> => (await app.list({ workflow: "answer" })).runs.length;
  return { app, storage, state, handler, request, ask, get, runs };
}

async function numberIn(response: Response): Promise<number | null> {
  const found = /"data-answer","data":(\d+)/.exec(await response.text());
  return found === null ? null : Number(found[1]);
}

const user = (text: string, id = "m1", more: object = {}): object => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
  ...more,
});
const regenerate = { trigger: "regenerate-message" };

test("the same request is the same run, whatever else is asked in between", async () => {
  const { ask, runs } = lab();
  expect(await ask({})).toBe(1);
  expect(await ask({})).toBe(1);
  expect(await ask({ messages: [user("ho")] })).toBe(2);
  expect(await ask({})).toBe(1);
  // The order of fields is no difference.
  expect(await ask({ messages: [{ parts: [{ text: "hi", type: "text" }], role: "user", id: "m1" }] })).toBe(
    1,
  );
  expect(await runs()).toBe(2);
});

test.each([
  ["a word", { messages: [user("ho")] }],
  ["an id", { messages: [user("hi", "m2")] }],
  ["a role", { messages: [{ ...user("hi"), role: "system" }] }],
  ["an earlier message", { messages: [user("x", "m0"), user("hi")] }],
  ["the trigger", { trigger: "regenerate-message" }],
  ["the message that is meant", { messageId: "m1" }],
  ["the chat", { id: "d" }],
] as const)("%s makes another turn", async (_what, body) => {
  const { ask } = lab();
  expect(await ask({})).toBe(1);
  expect(await ask(body)).toBe(2);
});

test("an edit that is repeated has one run; a return to an earlier version is a new question", async () => {
  const { ask } = lab();
  const edit = (text: string) => ({ messages: [user(text)], messageId: "m1" });
  expect(await ask({})).toBe(1);
  expect([await ask(edit("ho")), await ask(edit("ho"))]).toEqual([2, 2]);
  expect([await ask(edit("hi")), await ask(edit("hi"))]).toEqual([3, 3]);
  expect([await ask(edit("ho")), await ask(edit("ho"))]).toEqual([4, 4]);
});

test("another answer: a repetition is recognized by its key, by the answer it replaces, and while it is under way", async () => {
  const { ask, state, runs } = lab();
  expect(await ask({})).toBe(1);
  expect([await ask(regenerate, "k1"), await ask(regenerate, "k1")]).toEqual([2, 2]);
  expect(await ask(regenerate, "k2")).toBe(3);
  expect(await ask(regenerate, "k1")).toBe(2);
  const named = { ...regenerate, messageId: "msg-3" };
  expect([await ask(named), await ask(named)]).toEqual([4, 4]);
  // Neither key nor name: two requests of one user, as far as one can tell.
  expect([await ask(regenerate), await ask(regenerate)]).toEqual([5, 6]);
  let finish = (): void => {};
  state.wait = new Promise((resolve) => (finish = resolve));
  const [one, two] = [ask(regenerate), ask(regenerate)];
  while ((await runs()) < 7) await new Promise((resolve) => setImmediate(resolve));
  finish();
  expect(await Promise.all([one, two])).toEqual([7, 7]);
  // The name of a message of the user says nothing about the answer.
  expect([
    await ask({ ...regenerate, messageId: "m1" }),
    await ask({ ...regenerate, messageId: "m1" }),
  ]).toEqual([8, 9]);
});

test("a message whose run failed or was stopped can be sent again", async () => {
  const { app, ask, state, runs } = lab();
  state.fails = true;
  expect(await ask({})).toBe(null);
  state.fails = false;
  expect([await ask({}), await ask({})]).toEqual([2, 2]);
  let finish = (): void => {};
  state.wait = new Promise((resolve) => (finish = resolve));
  const stopped = ask({ messages: [user("ho")] });
  while ((await runs()) < 3) await new Promise((resolve) => setImmediate(resolve));
  const [latest] = (await app.list({ workflow: "answer", status: "running" })).runs;
  await app.cancel(latest?.runId ?? "");
  expect(await stopped).toBe(null);
  finish();
  expect(await ask({ messages: [user("ho")] })).not.toBe(null);
  expect(await runs()).toBe(4);
});

test("the same message with other fields around it is refused, and the way out is named", async () => {
  const { ask, request, runs } = lab();
  expect(await ask({ model: "small" })).toBe(1);
  for (const other of [
    { model: "large" },
    { model: "small", messages: [user("hi", "m1", { metadata: 1 })] },
  ]) {
    const response = await request(other);
    expect(response.status).toBe(409);
    expect(await response.json()).toEqual({
      error: {
        status: 409,
        code: "input-mismatch",
        message:
          "This message was sent before, with other metadata or other fields in the request. Send a new message, edit this one, or ask for another answer.",
      },
    });
  }
  expect(await runs()).toBe(1);
  // These are the ways out. Requests that only look like a repetition are taken as new.
  expect(await ask({ model: "large", messageId: "m1" })).toBe(2);
  expect(await ask({ model: "small", messageId: "m1" })).toBe(3);
  expect(await ask({ ...regenerate, model: "large" })).toBe(4);
  expect(await ask({ ...regenerate, model: "small" }, "k")).toBe(5);
  expect((await request({ ...regenerate, model: "large" }, "k")).status).toBe(409);
});

test("two requests at the same time start one run", async () => {
  for (const body of [{}, { messageId: "m1" }, regenerate]) {
    const { ask, runs } = lab();
    expect(await Promise.all([ask(body), ask(body), ask(body)])).toEqual([1, 1, 1]);
    expect(await runs()).toBe(1);
  }
});

test("a chat that was begun by an earlier version goes on: its running answer is there, and the next turns, too", async () => {
  const { app, ask, get, state, storage } = lab();
  let finish = (): void => {};
  state.wait = new Promise((resolve) => (finish = resolve));
  // As 0.1.0 named and listed its turns.
  const old = `chat-${fingerprint("c")}-${fingerprint(fingerprint(["m1", 1, "submit-message", ""]))}`;
  const journal = await Journal.open(`chat-${fingerprint("c")}`, { storage });
  await journal.record("turn 1", () => old);
  await app.start(
    "answer",
    { chatId: "c", messages: [user("hi")], trigger: "submit-message", body: {} },
    { id: old },
  );
  const watching = await get("/c/stream");
  expect(watching.status).toBe(200);
  expect(watching.headers.get("x-durable-run-id")).toBe(old);
  finish();
  expect(await numberIn(watching)).toBe(1);
  expect(await ask({ messages: [user("hi"), user("ho", "m2")] })).toBe(2);
  expect(await numberIn(await get("/c/stream"))).toBe(2);
  expect(await numberIn(await get(`/c/stream?run=${old}`))).toBe(1);
});

test("a run of another chat, or of no chat, is not shown and not stopped", async () => {
  const { app, get, handler, request, state } = lab();
  state.wait = new Promise(() => {});
  const mine = await request({ id: "mine" });
  const run = mine.headers.get("x-durable-run-id") ?? "";
  expect((await get(`/c/stream?run=${run}&from=0`)).status).toBe(204);
  expect((await get("/mine/stream?run=answer-1&from=0")).status).toBe(204);
  const stop = (path: string) => handler(new Request(`http://localhost/api/chat${path}`, { method: "POST" }));
  expect((await stop(`/c/stop?run=${run}`)).status).toBe(204);
  expect((await app.get(run).outcome()).status).not.toBe("cancelled");
  expect((await stop(`/mine/stop?run=${run}`)).status).toBe(204);
  expect((await app.get(run).outcome()).status).toBe("cancelled");
  await mine.body?.cancel();
});

test("a place that is not valid is refused, and one beyond the answer asks for the whole of it", async () => {
  const { ask, get, app } = lab();
  await ask({});
  const [run] = (await app.list({ workflow: "answer" })).runs;
  const at = (from: string) => get(`/c/stream?run=${run?.runId}&from=${from}`);
  for (const from of ["x", "-1", "1", "1.", "1.-1", "1.2.3", "9".repeat(20)])
    expect((await at(from)).status).toBe(400);
  expect((await at("1.99")).status).toBe(409);
  expect((await at("7.1")).status).toBe(409);
  expect(await (await at("1.1")).text()).toBe(
    `id: 1.1\ndata: {"type":"data-answer","data":1}\n\ndata: [DONE]\n\n`,
  );
  expect(await (await at("1.2")).text()).toBe("data: [DONE]\n\n");
});
